import { reasonOf } from "../errors.ts";
import type { Reason } from "../reasons.ts";

/** Does work; if a limit refuses it, the refusal comes late. */
export type LateRefusals = <A>(work: () => A | Promise<A>) => A | Promise<A>;

const lateMs = 100;
// Beyond these, callers are refused at once, because each holds its request as long as it waits.
const mostWaiting = 100;

const ofLimits: readonly (Reason | undefined)[] = ["RATE_LIMIT", "PASSWORD_ATTEMPTS"];

/**
 * Makes refusals of limits late. A client that tries again without waiting, such as a program that guesses passwords, would otherwise call
 * as fast as it is refused, at the expense of everybody else.
 */
export function lateRefusals(): LateRefusals {
  let waiting = 0;

  async function late(error: unknown): Promise<never> {
    if (isOfLimit(error) && waiting < mostWaiting) {
      waiting++;
      await new Promise((resolve) => setTimeout(resolve, lateMs).unref());
      waiting--;
    }
    throw error;
  }

  return (work) => {
    try {
      const pending = work();
      return pending instanceof Promise ? pending.catch(late) : pending;
    } catch (error) {
      if (isOfLimit(error)) return late(error);
      throw error;
    }
  };
}

const isOfLimit = (error: unknown): boolean => ofLimits.includes(reasonOf(error));
