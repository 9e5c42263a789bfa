import { setTimeout as pause } from "node:timers/promises";
import { lookAgain } from "../events/follow.ts";
import type { NotTaken } from "./not_taken.ts";

/** A message that a worker holds under a lease. */
export type Leased = { readonly id: string; readonly attempts: number };

/** The outcome of a try to deliver a message; it never contains the address, the text or the code. */
export type Delivery =
  | { readonly kind: "delivered" | "superseded" }
  | { readonly kind: "postponed"; readonly failure: string; readonly seconds: number }
  | { readonly kind: "dead"; readonly failure: string };

/** The means to deliver messages of one kind. */
export type DeliveryOptions<M extends Leased> = {
  /** Calls back when this node wrote a message; returns a function that stops it. Messages of other nodes are found by polling. */
  readonly onWritten: (look: () => void) => () => void;
  readonly timeoutMs: number;
  /** The time between two polls when this node wrote nothing. */
  readonly everyMs?: number | undefined;
  /** Leases messages that are due. */
  readonly take: (limits: { most: number; leaseSeconds: number }) => Promise<readonly M[]>;
  readonly deliver: (message: M) => Promise<Delivery>;
  /** Records the outcome of a try. */
  readonly settle: (message: M, delivery: Delivery) => Promise<unknown>;
  /** Called with the outcome of each try, for the log and the metrics. */
  readonly onDelivery: (message: M, delivery: Delivery) => void;
  /** Called when the database cannot be queried; the worker tries again. */
  readonly onError: (error: unknown) => void;
};

const atOnce = 16;
const longestBackoffSeconds = 60;
// A slow worker may still be recording its outcome: the lease outlives the time-out by far.
const settleSeconds = 60;

/**
 * Delivers the messages of an outbox. Each one is leased to one node at a time; it is sent twice only if a worker ended between
 * sending it and recording that.
 */
export function startDeliveries<M extends Leased>(options: DeliveryOptions<M>): AsyncDisposable {
  const { onWritten, timeoutMs, everyMs = 1000, onError } = options;
  const leaseSeconds = timeoutMs / 1000 + settleSeconds;
  const underWay = new Set<Promise<void>>();
  const stopped = new AbortController();
  const looking = lookAgain({ everyMs, onError, look });
  const unlisten = onWritten(looking.poke);

  return {
    async [Symbol.asyncDispose]() {
      unlisten();
      stopped.abort();
      await looking.stop();
      await Promise.all(underWay);
    },
  };

  // Messages beyond the limit are taken when a delivery ends, which polls again.
  async function look(): Promise<boolean> {
    const most = atOnce - underWay.size;
    const taken = most > 0 ? await options.take({ most, leaseSeconds }) : [];
    for (const message of taken) start(message);
    return false;
  }

  function start(message: M): void {
    const delivering = deliver(message)
      .catch(onError)
      .finally(() => {
        underWay.delete(delivering);
        looking.poke();
      });
    underWay.add(delivering);
  }

  async function deliver(message: M): Promise<void> {
    const delivery = await options.deliver(message);
    if (await settled(message, delivery)) options.onDelivery(message, delivery);
  }

  // An outage of the database for a moment must not make a message go out twice.
  async function settled(message: M, delivery: Delivery): Promise<boolean> {
    const until = performance.now() + settleSeconds * 500;
    for (;;) {
      try {
        await options.settle(message, delivery);
        return true;
      } catch (error) {
        onError(error);
        if (stopped.signal.aborted || performance.now() > until) return false;
        await pause(500, undefined, { signal: stopped.signal }).catch(() => {});
      }
    }
  }
}

/** Returns the pause after the n-th try: doubled each time, up to a minute, with jitter. */
export function backoffSeconds(attempts: number, random: () => number = Math.random): number {
  return Math.min(2 ** (attempts - 1), longestBackoffSeconds) * (0.5 + random() / 2);
}

/** Decides on a message that was not taken: another try later, or none. */
export function notDelivered(
  { message: failure, permanent, retrySeconds }: NotTaken,
  { attempts }: Leased,
  most: number,
): Delivery {
  if (permanent || attempts >= most) return { kind: "dead", failure };
  return { kind: "postponed", failure, seconds: Math.max(retrySeconds, backoffSeconds(attempts)) };
}
