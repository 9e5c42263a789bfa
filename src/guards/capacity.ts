import type { Interceptor } from "@connectrpc/connect";
import type { RequestGate } from "@postern/gateway";
import { type Call, keys, shareOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { type Shares, type WorkedFor, workFor } from "../security/current_share.ts";
import { Parts } from "../security/held_places.ts";
import { Traffic } from "../security/pace.ts";
import { unknownCallers } from "../security/turns.ts";
import { callOf, type Next, type StreamRequest, withMessages } from "./interceptor.ts";

/** Limits the number of calls that a node works on at once: a call that would only queue is refused while that is still cheap. */
export type Capacity = {
  /** Refuses a call by its headers alone. */
  readonly gated: (gate: RequestGate) => RequestGate;
  /** Counts a call only once its message is complete, so that slow bodies take no capacity. */
  readonly interceptor: Interceptor;
  /** Runs a request that is not a call, counting it as one. */
  readonly run: <T>(request: Pick<Call, "values">, work: () => Promise<T>) => Promise<T>;
};

/** Makes the limit, of which each share gets a part, and runs each call for its share. Streams are not counted, because they last. */
export function capacity(mostCalls: number, traffic = new Traffic()): Capacity {
  const parts = new Parts();
  const run: Capacity["run"] = (call, work) => {
    const share = shareOf(call);
    if (!parts.mayTake(share, mostCalls)) throw overloaded();
    parts.take(share);
    traffic.note(share[0]);
    const leave = () => {
      parts.give(share);
      // Whose application asks is known once it has been found.
      if (share[0] === unknownCallers) traffic.note(call.values.get(keys.clientOwner) || unknownCallers);
    };
    try {
      const pending = workFor(new CallsShare(call.values, traffic), work);
      pending.then(leave, leave);
      return pending;
    } catch (error) {
      leave();
      throw error;
    }
  };
  return {
    gated: (gate) => (context) => {
      if (parts.held >= mostCalls) throw overloaded();
      return gate(context);
    },
    interceptor: (next) => (request) =>
      request.stream ? streamFor(request, next, traffic) : run(callOf(request), () => next(request)),
    run,
  };
}

const overloaded = () => refuse.because("OVERLOADED", { retrySeconds: 1 });

/** The share of a call; a class, because closures would be created for every call. */
class CallsShare implements WorkedFor {
  readonly values: Call["values"];
  readonly #traffic: Traffic;

  constructor(values: Call["values"], traffic: Traffic) {
    this.values = values;
    this.#traffic = traffic;
  }

  get isShared(): boolean {
    return this.#traffic.isShared;
  }

  get shares(): Shares {
    return [shareOf(this)];
  }
}

async function streamFor(request: StreamRequest, next: Next, traffic: Traffic) {
  const whom = new CallsShare(callOf(request).values, traffic);
  const response = await workFor(whom, () => next(request));
  return response.stream ? withMessages(response, eachFor(whom, response.message)) : response;
}

/** Waits for each message in the context of the call, not in that of the client that sends the messages. */
const eachFor = <T>(whom: WorkedFor, messages: AsyncIterable<T>): AsyncIterable<T> => ({
  [Symbol.asyncIterator]() {
    const within = messages[Symbol.asyncIterator]();
    return {
      next: () => workFor(whom, () => within.next()),
      return: async (value) => (await within.return?.(value)) ?? { done: true, value },
    };
  },
});
