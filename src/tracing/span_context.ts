import { randomBytes } from "node:crypto";
import type { Ended } from "./span.ts";
import type { Parent } from "./trace_context.ts";

/** Where a span stands in its trace, and what its times are measured from. */
export type SpanContext = Pick<Ended, "traceId" | "spanId" | "parentId" | "remote" | "state"> & {
  readonly zero: number;
};

/** The context of a call: after its caller's span, or at the begin of a trace. */
export function contextOf(traceId: string, parent: Parent | undefined): SpanContext {
  // Within a trace only the steady clock counts, so that what happens first is written first.
  const zero = Date.now() - performance.now();
  const before = { parentId: parent?.spanId ?? "", remote: parent !== undefined, state: parent?.state ?? "" };
  return { traceId, spanId: newSpanId(), ...before, zero };
}

/** The context of what a span causes here. */
export function childOf({ traceId, spanId, state, zero }: SpanContext): SpanContext {
  return { traceId, spanId: newSpanId(), parentId: spanId, remote: false, state, zero };
}

/** Milliseconds of Unix time. */
export const timeAt = ({ zero }: SpanContext): number => zero + performance.now();

/** Says which trace a call begins. */
export const newTraceId = (): string => randomHex(32);

const newSpanId = () => randomHex(16);

let drawn = "";
let used = 0;

// Asking the system for each identifier takes 7 us, also of calls that are then not traced.
function randomHex(digits: number): string {
  if (used + digits > drawn.length) [drawn, used] = [randomBytes(2048).toString("hex"), 0];
  used += digits;
  return drawn.slice(used - digits, used);
}
