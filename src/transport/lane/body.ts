import { refuse } from "../../errors.ts";
import { BodyBuffer } from "../body_buffer.ts";
import type { Sink } from "../wire.ts";
import { encodingOf } from "./compression.ts";
import { fieldOf } from "./protocol.ts";
import { fail, run, type Visit } from "./visit.ts";

/** The most bytes that the body of a request may have. */
export function mostBytes({ ways, dialect }: Visit): number {
  const { messageMaxBytes } = ways.limits;
  return messageMaxBytes + dialect.protocol.around(messageMaxBytes);
}

/** Looks at what the headers say of a body before it is read; false when the call is over, or is refused for that. */
export function announced(visit: Visit): boolean {
  const { headers, dialect } = visit;
  if (visit.stage === "over") return false;
  try {
    visit.encoding = encodingOf(fieldOf(headers, dialect.protocol.encodingHeader));
    if (Number(headers["content-length"] ?? 0) > mostBytes(visit)) throw refuse.because("BODY_TOO_LARGE");
    return true;
  } catch (error) {
    fail(visit, error);
    return false;
  }
}

/** Takes the body of a request whole, then runs its operation; one that is too large, or too much now, is refused at once. */
export function sinkOf(visit: Visit): Sink {
  const most = mostBytes(visit);
  const body = new BodyBuffer(visit.account);
  const overloaded = () => fail(visit, refuse.because("OVERLOADED", { retrySeconds: 1 }));
  return {
    overloaded,
    data(part: Buffer) {
      // What comes after a refusal is read and dropped, so that the refusal arrives.
      if (visit.stage === "over") return;
      if (body.length + part.length > most) fail(visit, refuse.because("BODY_TOO_LARGE"));
      else if (!body.add(part)) overloaded();
    },
    end: () => void run(visit, body.bytes),
  };
}
