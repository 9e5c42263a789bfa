import { refuse } from "../../errors.ts";
import { fail, run, type Visit } from "./visit.ts";

/** The most bytes that the body of a request may have. */
export function mostBytes({ ways, dialect }: Visit): number {
  const { messageMaxBytes } = ways.limits;
  return messageMaxBytes + dialect.protocol.around(messageMaxBytes);
}

/** Takes the body of a request whole, then runs its operation; one that is too large is refused at once. */
export function sinkOf(visit: Visit) {
  const most = mostBytes(visit);
  let body: Buffer | undefined;
  let more: Buffer[] | undefined;
  let size = 0;
  return {
    data(part: Buffer) {
      size += part.length;
      // What comes after a refusal is read and dropped, so that the refusal arrives.
      if (visit.stage === "over") return;
      if (size > most) fail(visit, refuse.because("BODY_TOO_LARGE"));
      else if (body === undefined) body = part;
      else if (more) more.push(part);
      else more = [body, part];
    },
    end: () => void run(visit, more ? Buffer.concat(more) : (body ?? empty)),
  };
}

/** The body of a request that has none. */
export const empty = Buffer.alloc(0);
