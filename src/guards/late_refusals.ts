import { reasonOf } from "../errors.ts";
import type { Reason } from "../reasons.ts";

/** Does work for a caller with so much time left; if a limit refuses it, the refusal comes late. */
export type LateRefusals = <A>(work: () => A | Promise<A>, leftMs?: number) => A | Promise<A>;

const lateMs = 100;
// Beyond these, callers are refused at once, because each holds its request as long as it waits: half of what a connection may have open.
const mostWaiting = 64;

const ofLimits: readonly (Reason | undefined)[] = ["RATE_LIMIT", "PASSWORD_ATTEMPTS"];

/**
 * Makes refusals of limits late. A client that tries again without waiting, such as a program that guesses passwords, would otherwise call
 * as fast as it is refused, at the expense of everybody else.
 */
export function lateRefusals(): LateRefusals {
  let waiting = 0;

  async function late(error: unknown, leftMs: number): Promise<never> {
    if (isOfLimit(error) && waiting < mostWaiting) {
      waiting++;
      // A caller in a hurry still learns which limit it was, instead of reaching its deadline.
      await new Promise((resolve) => setTimeout(resolve, Math.min(lateMs, leftMs / 2)).unref());
      waiting--;
    }
    throw error;
  }

  return (work, leftMs = Number.POSITIVE_INFINITY) => {
    try {
      const pending = work();
      return pending instanceof Promise ? pending.catch((error) => late(error, leftMs)) : pending;
    } catch (error) {
      if (isOfLimit(error)) return late(error, leftMs);
      throw error;
    }
  };
}

const isOfLimit = (error: unknown): boolean => ofLimits.includes(reasonOf(error));
