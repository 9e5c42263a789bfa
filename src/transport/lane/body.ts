import type { Readable } from "node:stream";
import { refuse } from "../../errors.ts";
import { fail, leave, run, type Visit } from "./visit.ts";

/** The most bytes that the body of a request may have. */
export function mostBytes({ ways, dialect }: Visit): number {
  const { messageMaxBytes } = ways.limits;
  return messageMaxBytes + dialect.protocol.around(messageMaxBytes);
}

/** Reads the body of a request whole, then runs its operation; one that is too large is refused at once. */
export function receive(visit: Visit, source: Readable): void {
  const most = mostBytes(visit);
  let body: Buffer | undefined;
  let more: Buffer[] | undefined;
  let size = 0;
  source.on("data", (part: Buffer) => {
    size += part.length;
    // What comes after a refusal is read and dropped, so that the refusal arrives.
    if (visit.stage === "over") return;
    if (size > most) fail(visit, refuse.because("BODY_TOO_LARGE"));
    else if (body === undefined) body = part;
    else if (more) more.push(part);
    else more = [body, part];
  });
  source.on("end", () => {
    // A stream of HTTP/2 that was reset without an error ends like one that is complete.
    if (source.closed) return leave(visit);
    void run(visit, more ? Buffer.concat(more) : (body ?? empty));
  });
}

/** The body of a request that has none. */
export const empty = Buffer.alloc(0);
