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
export async function endAnyway(log: Deps["log"], call: Call, endsOf: EndsOf): Promise<void> {
  const lasting = aside(call);
  try {
    await retry(async () => log.append(lasting, await endsOf(lasting.signal), true), lasting);
  } catch (error) {
    // A lost race would have the call run again, which wrote already.
    throw isLostRace(error) ? new Error("what a call had to end is still in force", { cause: error }) : error;
  }
}

/** Ends what a call wrote that is about to fail. A repetition of the call must not get the answer that was recorded with it. */
export async function withdraw({ log, sql }: Pick<Deps, "log" | "sql">, call: Call, endsOf: EndsOf): Promise<void> {
  await endAnyway(log, call, endsOf);
  await forgetAnswer(sql, call);
}
