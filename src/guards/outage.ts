import { refuse } from "../errors.ts";

/** How to tell what the database could not do from what went wrong. */
export type Outages = {
  readonly isUnavailable: (error: unknown) => boolean;
  readonly isStatementTimeout: (error: unknown) => boolean;
};

const retrySeconds = 1;

/** Says that the database is away, or took too long, in the words of the caller; leaves every other error as it is. */
export function outage({ isUnavailable, isStatementTimeout }: Outages): (error: unknown) => unknown {
  return (error) => {
    if (isStatementTimeout(error)) return refuse.because("DEADLINE_EXCEEDED", { cause: error });
    return isUnavailable(error) ? refuse.because("UNAVAILABLE", { retrySeconds, cause: error }) : error;
  };
}
