import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../deps.ts";
import { refuse } from "../errors.ts";

type Unary = (request: Message, call: Call) => Promise<object>;

/** How to tell what the database could not do from what went wrong. */
export type Outages = {
  readonly isUnavailable: (error: unknown) => boolean;
  readonly isStatementTimeout: (error: unknown) => boolean;
};

const retrySeconds = 1;

/** Says that the database is away, or took too long, in the words of the caller. */
export function outage(next: Unary, { isUnavailable, isStatementTimeout }: Outages): Unary {
  return async (request, call) => {
    try {
      return await next(request, call);
    } catch (error) {
      if (isStatementTimeout(error)) throw refuse.because("DEADLINE_EXCEEDED", { cause: error });
      throw isUnavailable(error) ? refuse.because("UNAVAILABLE", { retrySeconds, cause: error }) : error;
    }
  };
}
