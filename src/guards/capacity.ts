import type { Interceptor } from "@connectrpc/connect";
import type { RequestGate } from "@postern/gateway";
import { refuse } from "../errors.ts";

/** Bounds the calls that a node works on at once: a call that would only wait behind others is refused while that is cheap. */
export type Capacity = {
  /** Refuses a call by its headers alone. */
  readonly gated: (gate: RequestGate) => RequestGate;
  /** Counts a call from the moment its message is complete: a slow body takes no place. */
  readonly interceptor: Interceptor;
  /** Runs a request that is no call, as one of them. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
};

/** Makes the bound; streams are not counted, since they last. */
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
