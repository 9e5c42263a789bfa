import { refuse } from "../errors.ts";

/** Predicates that distinguish failures of the database from other errors. */
export type Outages = {
  readonly isUnavailable: (error: unknown) => boolean;
  readonly isStatementTimeout: (error: unknown) => boolean;
};

const retrySeconds = 1;

/** The refusal for an outage or a time-out of the database; every other error is returned unchanged. */
export function outage({ isUnavailable, isStatementTimeout }: Outages): (error: unknown) => unknown {
  return (error) => {
    if (isStatementTimeout(error)) return refuse.because("DEADLINE_EXCEEDED", { cause: error });
    return isUnavailable(error) ? refuse.because("UNAVAILABLE", { retrySeconds, cause: error }) : error;
  };
}
