import type { Call } from "../deps.ts";
import { keys } from "../deps.ts";
import { reasonOf, refuse } from "../errors.ts";

/** Predicates that distinguish failures of the database from other errors. */
export type Outages = {
  readonly isUnavailable: (error: unknown) => boolean;
  readonly isStatementTimeout: (error: unknown) => boolean;
};

const retrySeconds = 1;

/**
 * The error for an outage or timeout of the database; every other error is returned unchanged. UNAVAILABLE invites clients to repeat the
 * call, so calls that have written something without an idempotency key get another error.
 */
export function outage(outages: Outages, error: unknown, { values }: Pick<Call, "values">): unknown {
  if (outages.isStatementTimeout(error)) return refuse.because("DEADLINE_EXCEEDED", { cause: error });
  if (!outages.isUnavailable(error) && reasonOf(error) !== "UNAVAILABLE") return error;
  if (values.get(keys.written) && !values.get(keys.idempotency))
    return refuse.because("OUTCOME_UNKNOWN", { cause: error });
  return reasonOf(error) ? error : refuse.because("UNAVAILABLE", { retrySeconds, cause: error });
}
