import { randomBytes } from "node:crypto";
import type { Ended } from "./span.ts";
import type { Parent } from "./trace_context.ts";

/** The position of a span in its trace, and the origin of its clock. */
export type SpanContext = Pick<Ended, "traceId" | "spanId" | "parentId" | "remote" | "state"> & {
  readonly zero: number;
};

/** Makes the context of a call: a child of its caller's span, or the root of a trace. */
export function contextOf(traceId: string, parent: Parent | undefined): SpanContext {
  // Within a trace only the monotonic clock counts, so that spans keep the order of their events.
  const zero = Date.now() - performance.now();
  const before = { parentId: parent?.spanId ?? "", remote: parent !== undefined, state: parent?.state ?? "" };
  return { traceId, spanId: newSpanId(), ...before, zero };
}

/** Makes the context of a child span in this process. */
export function childOf({ traceId, spanId, state, zero }: SpanContext): SpanContext {
  return { traceId, spanId: newSpanId(), parentId: spanId, remote: false, state, zero };
}

/** The Unix time in milliseconds. */
export const timeAt = ({ zero }: SpanContext): number => zero + performance.now();

export const newTraceId = (): string => randomHex(32);

const newSpanId = () => randomHex(16);

let drawn = "";
let used = 0;

// Fetching random bytes for each id takes 7 µs, even for calls that are not traced in the end.
function randomHex(digits: number): string {
  if (used + digits > drawn.length) [drawn, used] = [randomBytes(2048).toString("hex"), 0];
  used += digits;
  return drawn.slice(used - digits, used);
}
