import type { Parent } from "./trace_context.ts";

/** The samplers by their OpenTelemetry names. */
export type Sampler = `${"" | "parentbased_"}${"always_on" | "always_off" | "traceidratio"}`;

/** Decides whether a call is traced. */
export type Sampled = (traceId: string, parent: Parent | undefined) => boolean;

/** Decides with the sampler. A parent-based one follows the caller's decision, if the call carries one. A ratio applies to all traces. */
export function samplingOf(sampler: Sampler, ratio: number): Sampled {
  const own = ownDecision(sampler, ratio);
  if (!sampler.startsWith("parentbased_")) return own;
  return (traceId, parent) => (parent ? parent.sampled : own(traceId));
}

function ownDecision(sampler: Sampler, ratio: number): (traceId: string) => boolean {
  if (sampler.endsWith("always_on")) return () => true;
  if (sampler.endsWith("always_off")) return () => false;
  // The last 7 bytes of a trace id are random (Trace Context 2), so all systems sample the same traces.
  const least = (1 - ratio) * 2 ** 56;
  return (traceId) => Number.parseInt(traceId.slice(-14), 16) >= least;
}
