import { setTimeout as pause } from "node:timers/promises";
import { lookAgain } from "../events/follow.ts";
import type { Sql } from "../postgres/connect.ts";
import { openPhoneCode } from "../security/phone_code.ts";
import type { Keyring } from "../security/seal.ts";
import { bury, expired, forget, type LeasedSms, postpone, take } from "./outbox.ts";
import { NotTaken, type Sender } from "./sms.ts";

/** The outcome of a try to deliver an SMS; it never contains the number, the text or the code. */
export type Delivery =
  | { readonly kind: "delivered" | "superseded" }
  | { readonly kind: "postponed"; readonly failure: string; readonly seconds: number }
  | { readonly kind: "dead"; readonly failure: string };

/** Options of the worker. */
export type SmsWorkerOptions = {
  readonly sql: Sql;
  /** Calls back when this node wrote a message; returns a function that stops it. Messages of other nodes are found by polling. */
  readonly onWritten: (look: () => void) => () => void;
  readonly keyring: Keyring;
  readonly sender: Sender;
  readonly clock: () => Date;
  /** The text, with `{code}` in place of the code. */
  readonly text: string;
  readonly attempts: number;
  readonly timeoutMs: number;
  /** The time between two polls when this node wrote nothing. */
  readonly everyMs?: number;
  /** Called with the outcome of each try, for the log and the metrics. */
  readonly onDelivery: (message: Pick<LeasedSms, "id" | "userId" | "attempts">, delivery: Delivery) => void;
  /** Called when the database cannot be queried; the worker tries again. */
  readonly onError: (error: unknown) => void;
};

const atOnce = 16;
const longestBackoffSeconds = 60;
// A slow worker may still be recording its outcome: the lease outlives the time-out by far.
const settleSeconds = 60;

/**
 * Delivers the SMS of the outbox. Each message is leased to one node at a time; it is sent twice only if a worker ended
 * between sending it and recording that.
 */
export function startSmsWorker(options: SmsWorkerOptions): AsyncDisposable {
  const { sql, onWritten, timeoutMs, everyMs = 1000, onError } = options;
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
    const taken = most > 0 ? await take(sql, { most, leaseSeconds }) : [];
    for (const message of taken) start(message);
    return false;
  }

  function start(message: LeasedSms): void {
    const delivering = deliver(message)
      .catch(onError)
      .finally(() => {
        underWay.delete(delivering);
        looking.poke();
      });
    underWay.add(delivering);
  }

  async function deliver(message: LeasedSms): Promise<void> {
    const delivery = await tryToDeliver(options, message);
    if (await settled(message, delivery)) options.onDelivery(message, delivery);
  }

  // An outage of the database for a moment must not make a message go out twice.
  async function settled(message: LeasedSms, delivery: Delivery): Promise<boolean> {
    const until = performance.now() + settleSeconds * 500;
    for (;;) {
      try {
        await settle(sql, message, delivery);
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

async function tryToDeliver(options: SmsWorkerOptions, message: LeasedSms): Promise<Delivery> {
  const { id, userId, attempts, phone, sealed, expiration } = message;
  if (!phone || !sealed || !expiration) return { kind: "superseded" };
  if (expiration <= options.clock()) return { kind: "dead", failure: expired };
  if (attempts > options.attempts) return { kind: "dead", failure: "every try ended with its worker" };
  const code = opened(options.keyring, { id, userId, phone, sealed });
  if (code === undefined) return { kind: "dead", failure: "no master key opens the code" };
  const sms = { id, to: phone, text: options.text.replaceAll("{code}", code) };
  try {
    await options.sender(sms, AbortSignal.timeout(options.timeoutMs));
    return { kind: "delivered" };
  } catch (error) {
    return notDelivered(
      error instanceof NotTaken ? error : new NotTaken("the sender failed"),
      message,
      options.attempts,
    );
  }
}

function notDelivered(
  { message: failure, permanent, retrySeconds }: NotTaken,
  { attempts }: LeasedSms,
  most: number,
): Delivery {
  if (permanent || attempts >= most) return { kind: "dead", failure };
  return { kind: "postponed", failure, seconds: Math.max(retrySeconds, backoffSeconds(attempts)) };
}

function opened(keyring: Keyring, of: Parameters<typeof openPhoneCode>[1]): string | undefined {
  try {
    return openPhoneCode(keyring, of);
  } catch {
    return undefined;
  }
}

async function settle(sql: Sql, message: LeasedSms, delivery: Delivery): Promise<void> {
  switch (delivery.kind) {
    case "delivered":
    case "superseded":
      await forget(sql, message);
      break;
    case "postponed":
      await postpone(sql, message, delivery);
      break;
    case "dead":
      await bury(sql, message, delivery.failure);
      break;
  }
}
