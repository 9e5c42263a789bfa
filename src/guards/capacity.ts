import type { Interceptor } from "@connectrpc/connect";
import type { RequestGate } from "@postern/gateway";
import { refuse } from "../errors.ts";

/** Limits the calls that a node works on at once: a call that would only queue is refused while that is still cheap. */
export type Capacity = {
  /** Refuses a call by its headers alone. */
  readonly gated: (gate: RequestGate) => RequestGate;
  /** Counts a call only once its message is complete, so that slow bodies take no capacity. */
  readonly interceptor: Interceptor;
  /** Runs a request that is not a call, counting it as one. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
};

/** Makes the limit. Streams are not counted, because they last. */
export function capacity(mostCalls: number): Capacity {
  let running = 0;
  const refuseIfFull = () => {
    if (running >= mostCalls) throw refuse.because("OVERLOADED", { retrySeconds: 1 });
  };
  const leave = () => {
    running--;
  };
  const run = <T>(work: () => Promise<T>): Promise<T> => {
    refuseIfFull();
    running++;
    try {
      const pending = work();
      pending.then(leave, leave);
      return pending;
    } catch (error) {
      leave();
      throw error;
    }
  };
  return {
    gated: (gate) => (context) => {
      refuseIfFull();
      return gate(context);
    },
    interceptor: (next) => (request) => (request.stream ? next(request) : run(() => next(request))),
    run,
  };
}
