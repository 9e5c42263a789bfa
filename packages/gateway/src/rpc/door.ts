import { refuse } from "../../../../src/errors.ts";
import { probes } from "../services/probes.ts";
import type { Call } from "./operations.ts";
import { plainRoom } from "./plain.ts";
import { type Answer, type Asked, compressed, locate } from "./request.ts";
import { type Parts, problemAnswer, type Room } from "./rooms.ts";

/** Answers one request; never throws. */
export type Door = (asked: Asked) => Promise<Answer>;

/** The door for plain JSON: health, rpc paths and REST paths, each in a room of its own, behind the rooms that come first. */
export function jsonDoor(parts: Parts, before: readonly Room[] = []): Door {
  const rooms = [...before, probes(parts.ready), plainRoom(parts)];
  return async (asked) => {
    const { requestId, values } = parts.newCall();
    const call = { values, signal: asked.signal, requestHeader: asked.headers };
    const found = await enter(rooms, asked, call).catch((error) =>
      problemAnswer(parts.refused(error, call, asked.method)),
    );
    const answer = await compressed(found, asked);
    return { ...answer, headers: { ...always, ...answer.headers, "x-request-id": requestId } };
  };
}

const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

async function enter(rooms: readonly Room[], asked: Asked, call: Call): Promise<Answer> {
  const located = locate(asked);
  for (const room of rooms) {
    const answer = room(located, call);
    if (answer) return answer;
  }
  throw refuse.because("UNKNOWN_PATH");
}
