import { encodingOf } from "../../codec/compression.ts";
import { noRoom } from "../../http/body_budget.ts";
import { BodyBuffer } from "../../http/body_buffer.ts";
import type { Sink } from "../../http/exchange.ts";
import { messageBytes, tooLarge } from "../../limits/message_limit.ts";
import { fieldOf } from "../protocols/protocol.ts";
import { fail, run, type Visit } from "./visit.ts";

/** The most bytes that the body of a request may have. */
export function mostBytes({ ways, operation, dialect }: Visit): number {
  const most = messageBytes(operation, ways.limits);
  return most + dialect.protocol.around(most);
}

/** Looks at what the headers say of a body before it is read; false when the call is over, or is refused for that. */
export function announced(visit: Visit): boolean {
  const { headers, dialect, operation } = visit;
  if (visit.stage === "over") return false;
  try {
    visit.encoding = encodingOf(fieldOf(headers, dialect.protocol.encodingHeader), operation.encodings);
    if (Number(headers["content-length"] ?? 0) > mostBytes(visit)) throw tooLargeFor(visit);
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
  const overloaded = () => fail(visit, noRoom());
  return {
    overloaded,
    data(part: Buffer) {
      // What comes after a refusal is read and dropped, so that the refusal arrives.
      if (visit.stage === "over") return;
      if (body.length + part.length > most) fail(visit, tooLargeFor(visit));
      else if (!body.add(part)) overloaded();
    },
    end: () => void run(visit, body.bytes),
  };
}

const tooLargeFor = ({ operation, ways }: Visit) => tooLarge(messageBytes(operation, ways.limits));
