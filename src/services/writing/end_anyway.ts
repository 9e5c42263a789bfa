import type { Call, Deps } from "../../deps.ts";
import type { NewFact } from "../../events/fact.ts";
import { retry } from "../../guards/retry.ts";
import { aside } from "./side_call.ts";

/**
 * Ends what a call must not leave in force, whatever else changes it at the same time: after each lost race, what is left to end is read
 * again.
 */
export async function endAnyway(
  log: Deps["log"],
  call: Call,
  endsOf: (signal: AbortSignal) => Promise<readonly NewFact[]>,
): Promise<void> {
  const lasting = aside(call);
  await retry(async () => log.append(lasting, await endsOf(lasting.signal), true), lasting);
}
