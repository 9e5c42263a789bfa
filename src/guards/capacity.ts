import type { Interceptor } from "@connectrpc/connect";
import type { RequestGate } from "@postern/gateway";
import { refuse } from "../errors.ts";

/** Bounds the calls that a node works on at once: a call that would only wait behind others is refused while that is cheap. */
export type Capacity = {
  /** Refuses a call by its headers alone. */
  readonly gated: (gate: RequestGate) => RequestGate;
  /** Counts a call from the moment its message is complete: a slow body takes no place. */
  readonly interceptor: Interceptor;
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
  return {
    gated: (gate) => (context) => {
      refuseIfFull();
      return gate(context);
    },
    interceptor: (next) => (request) => {
      if (request.stream) return next(request);
      refuseIfFull();
      running++;
      try {
        const pending = next(request);
        pending.then(leave, leave);
        return pending;
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
