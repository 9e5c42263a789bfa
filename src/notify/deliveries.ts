import { setTimeout as pause } from "node:timers/promises";
import { lookAgain } from "../events/follow.ts";
import type { NotTaken } from "./not_taken.ts";
import { roomFor, type Taken, type Turn } from "./turns.ts";

/** A message that a worker holds under a lease, and the organization that it is for. */
export type Leased = Owned & { readonly attempts: number };

type Owned = { readonly id: string; readonly owner: string };

/** The outcome of a try to deliver a message; it never contains the address, the text or the code. */
export type Delivery = (
  | { readonly kind: "delivered" | "superseded" }
  | { readonly kind: "postponed"; readonly failure: string; readonly seconds: number }
  | { readonly kind: "dead"; readonly failure: string }
) & {
  /** Whether nothing was tried, because others waited in vain for the same host. */
  readonly isUntried?: boolean;
};

/** The means to deliver messages of one kind. */
export type DeliveryOptions<M extends Owned, D extends Delivery = Delivery> = {
  /** Calls back when this node wrote a message; returns a function that stops it. Messages of other nodes are found by polling. */
  readonly onWritten: (look: () => void) => () => void;
  readonly timeoutMs: number;
  /** The time between two polls when this node wrote nothing. */
  readonly everyMs?: number | undefined;
  /** Leases messages that are due. */
  readonly take: (turn: Turn) => Promise<Taken<M>>;
  readonly deliver: (message: M) => Promise<D>;
  /** Records the outcome of a try. */
  readonly settle: (message: M, delivery: D) => Promise<unknown>;
  /** Called with the outcome of each try, for the log and the metrics; not for messages postponed without one. */
  readonly onDelivery: (message: M, delivery: D) => void;
  /** Called when the database cannot be queried; the worker tries again. */
  readonly onError: (error: unknown) => void;
};

const places = 24;
// Organizations with nothing due are visited in stretches; this many of those at once.
const mostStretches = 20;
const longestBackoffSeconds = 60;
// A slow worker may still be recording its outcome: the lease far outlives the timeout.
const settleSeconds = 60;

/**
 * Delivers the messages of an outbox. Each is leased to one node at a time; it is sent twice only if a worker ended between sending it and
 * recording that. Organizations take turns, and none holds more than two thirds of a node's places.
 */
export function startDeliveries<M extends Owned, D extends Delivery = Delivery>(
  options: DeliveryOptions<M, D>,
): AsyncDisposable {
  const { onWritten, timeoutMs, everyMs = 1000, onError } = options;
  const leaseSeconds = timeoutMs / 1000 + settleSeconds;
  const underWay = new Map<Promise<void>, string>();
  let after = "";
  let stretches = 0;
  const stopped = new AbortController();
  const looking = lookAgain({ everyMs, onError, look });
  const unlisten = onWritten(looking.poke);

  return {
    async [Symbol.asyncDispose]() {
      unlisten();
      stopped.abort();
      await looking.stop();
      await Promise.all(underWay.keys());
    },
  };

  // Messages beyond the limit are taken when a delivery ends, which polls again.
  async function look(): Promise<boolean> {
    const most = places - underWay.size;
    if (most <= 0) return false;
    const taken = await options.take({ most, leaseSeconds, after, ...roomsOf([...underWay.values()], most) });
    after = taken.after;
    stretches = taken.isCut ? (stretches + 1) % mostStretches : 0;
    for (const message of taken.messages) start(message);
    return taken.messages.length > 0 || stretches > 0;
  }

  function start(message: M): void {
    const delivering = deliver(message)
      .catch(onError)
      .finally(() => {
        underWay.delete(delivering);
        looking.poke();
      });
    underWay.set(delivering, message.owner);
  }

  async function deliver(message: M): Promise<void> {
    const delivery = await options.deliver(message);
    const isSettled = await settled(message, delivery);
    if (isSettled && !(delivery.isUntried && delivery.kind === "postponed")) options.onDelivery(message, delivery);
  }

  // A brief outage of the database must not make a message go out twice.
  async function settled(message: M, delivery: D): Promise<boolean> {
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

function roomsOf(owners: readonly string[], free: number): Pick<Turn, "rooms" | "roomOfOthers"> {
  const held = new Map<string, number>();
  for (const owner of owners) held.set(owner, (held.get(owner) ?? 0) + 1);
  const rooms = new Map([...held].map(([owner, count]) => [owner, roomFor(count, free)]));
  return { rooms, roomOfOthers: roomFor(0, free) };
}

/** Returns the pause after the n-th try: doubled each time, up to a minute or another limit, with jitter. */
export function backoffSeconds(attempts: number, random: () => number = Math.random, longest = longestBackoffSeconds) {
  return Math.min(2 ** (attempts - 1), longest) * (0.5 + random() / 2);
}

/** The reason why a post to a URI registered by an application failed, in words for operators. */
export function failureOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === "ABORT_ERR") return "it did not answer in time";
  return typeof code === "string" ? `it cannot be reached (${code})` : String(message).slice(0, 200);
}

// The errors of a host that takes the whole time of a try; other errors cost next to nothing.
const swallowed = new Set(["ABORT_ERR", "ETIMEDOUT", "EHOSTUNREACH", "ESERVFAIL"]);

/** Whether a post took the whole time of a try without a response. */
export const isUnanswered = (error: unknown): boolean => swallowed.has(String((error as { code?: unknown }).code));

/** Decides on a message that was not accepted: another try later, or none. */
export function notDelivered(
  { message: failure, permanent, retrySeconds }: NotTaken,
  { attempts }: Leased,
  most: number,
): Delivery {
  if (permanent || attempts >= most) return { kind: "dead", failure };
  return { kind: "postponed", failure, seconds: Math.max(retrySeconds, backoffSeconds(attempts)) };
}
