import type { Call } from "../deps.ts";
import { refuse } from "../errors.ts";
import { isLockLost } from "../postgres/failure.ts";
import { retry } from "./retry.ts";

/** Retries a write a limited number of times if it lost a lock, in which case it had no effect. */
export const triedAgain = <T>(statement: () => Promise<T>, call: Pick<Call, "signal">): Promise<T> =>
  retry(() => statement().catch(asLostRace), call);

/** Throws a lost lock as the lost race that it is, and any other error as it is. */
export function asLostRace(error: unknown): never {
  throw isLockLost(error) ? refuse.because("CONFLICT", { params: { constraint: "lock" }, cause: error }) : error;
}
