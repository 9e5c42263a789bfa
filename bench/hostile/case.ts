import { type Call, callRepeatedly, callTogether } from "./calls.ts";
import type { Client } from "./client.ts";

/** The sender of a case: an unknown caller, or a user who has a valid token and no role. */
export type Caller = "unknown" | "no role";

/** One way to attack. */
export type Case = {
  readonly name: string;
  readonly caller: Caller;
  /** Held open: the goal for memory is one for all that is held together, not for each 64 KiB. */
  readonly holds?: true;
  /** Answers are documents, which may be larger than a refusal. */
  readonly documents?: true;
  /** Makes what is sent to the server at a URL, before anything is measured. */
  readonly prepare?: (url: string) => unknown;
  /** Sends until the time is over; answers the longest time that one request took, in milliseconds. */
  readonly run: (client: Client) => Promise<number>;
  /** Sends so many requests at once: the memory that requests under way hold. */
  readonly together?: (client: Client, count: number) => Promise<void>;
};

/** A case of one call, made when it is run; it may take from the server what anybody gets there, such as the token of a form. */
export function ofCall(
  name: string,
  call: (url: string) => Call | Promise<Call>,
  more: Partial<Pick<Case, "caller" | "documents">> = {},
): Case {
  const made = Promise.withResolvers<Call>();
  return {
    name,
    caller: "unknown",
    ...more,
    async prepare(url) {
      made.resolve(await call(url));
    },
    run: async (client) => callRepeatedly(client, await made.promise),
    together: async (client, count) => callTogether(client, await made.promise, count),
  };
}
