import type { Call } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { retry } from "../../guards/retry.ts";
import { isLockLost } from "../../postgres/failure.ts";

/** Runs a statement that writes again, a bounded number of times, when it lost a lock to another: it had no effect then. */
export const triedAgain = <T>(statement: () => Promise<T>, call: Pick<Call, "signal">): Promise<T> =>
  retry(async () => {
    try {
      return await statement();
    } catch (error) {
      if (!isLockLost(error)) throw error;
      throw refuse.because("CONFLICT", { params: { constraint: "lock" }, cause: error });
    }
  }, call);
