import { refuse } from "../../../../src/errors.ts";
import { jsonAnswer, type Located } from "../rpc/request.ts";
import { problemAnswer, type Room } from "../rpc/rooms.ts";

/** `/healthz`: the process is alive; `/readyz`: this node can serve. */
export function probes(ready: () => boolean | Promise<boolean>): Room {
  const answers = new Map([
    ["/healthz", async () => ok],
    ["/readyz", async ({ stopping }: Located) => (!stopping.aborted && (await isReady(ready)) ? ok : notReady())],
  ]);
  return (asked) => {
    const answer = answers.get(asked.path);
    if (!answer) return undefined;
    if (asked.method !== "GET" && asked.method !== "HEAD")
      throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: "GET, HEAD" } });
    return answer(asked);
  };
}

const ok = jsonAnswer(200, '{"status":"ok"}');

const notReady = () => problemAnswer(refuse.because("UNAVAILABLE"));

async function isReady(ready: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await ready();
  } catch {
    return false;
  }
}
