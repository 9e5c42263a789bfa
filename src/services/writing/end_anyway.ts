import type { Call, Deps } from "../../deps.ts";
import { isLostRace } from "../../errors.ts";
import type { NewFact } from "../../events/fact.ts";
import { retry } from "../../guards/retry.ts";
import { forgetAnswer } from "./forget_answer.ts";
import { aside } from "./side_call.ts";

type EndsOf = (signal: AbortSignal) => Promise<readonly NewFact[]>;

/**
 * Ends what a call must not leave in force, whatever else changes it at the same time: after each lost race, what is left to end is read
 * again.
 */
export function endAnyway(log: Deps["log"], call: Call, endsOf: EndsOf): Promise<void> {
  const lasting = aside(call);
  return untilDone(async () => void (await log.append(lasting, await endsOf(lasting.signal), true)), lasting);
}

/** Repeats a step that loses races. If it keeps losing, the error is another: for a lost race, a call that has already written would be rerun. */
export async function untilDone(step: () => Promise<void>, call: Pick<Call, "signal">): Promise<void> {
  try {
    await retry(step, call);
  } catch (error) {
    throw isLostRace(error) ? new Error("what a call had to end is still in force", { cause: error }) : error;
  }
}

/** Ends the credential that a call made, before the call fails. */
export async function withdraw({ log, sql }: Pick<Deps, "log" | "sql">, call: Call, endsOf: EndsOf): Promise<void> {
  await forgetAnswer(sql, call);
  await endAnyway(log, call, endsOf);
}
