import { setTimeout as pause } from "node:timers/promises";
import { lookAgain } from "../events/follow.ts";
import type { Sql } from "../postgres/connect.ts";
import { openPhoneCode } from "../security/phone_code.ts";
import type { Keyring } from "../security/seal.ts";
import { bury, expired, forget, type LeasedSms, postpone, take } from "./outbox.ts";
import { NotTaken, type Sender } from "./sms.ts";

/** How a try to deliver an SMS ended; never with the number, the text or the code. */
export type Delivery =
  | { readonly kind: "delivered" | "superseded" }
  | { readonly kind: "postponed"; readonly failure: string; readonly seconds: number }
  | { readonly kind: "dead"; readonly failure: string };

/** What the worker is made of. */
export type SmsWorkerOptions = {
  readonly sql: Sql;
  /** Calls back when this node wrote a message; answers how to stop. Messages of other nodes are found by looking. */
  readonly onWritten: (look: () => void) => () => void;
  readonly keyring: Keyring;
  readonly sender: Sender;
  readonly clock: () => Date;
  /** The text, with `{code}` where the code goes. */
  readonly text: string;
  readonly attempts: number;
  readonly timeoutMs: number;
  /** How long to wait between two looks when this node wrote nothing. */
  readonly everyMs?: number;
  /** Hears how each try ended, for the log and the metrics. */
  readonly onDelivery: (message: Pick<LeasedSms, "id" | "userId" | "attempts">, delivery: Delivery) => void;
  /** Hears that the database could not be asked; the worker tries again. */
  readonly onError: (error: unknown) => void;
};

const atOnce = 16;
const longestBackoffSeconds = 60;
// A worker that was taken for dead may still be settling; the lease outlives the time-out by far.
const settleSeconds = 60;

/**
 * Delivers the SMS of the outbox. Nodes hold leases: a message is delivered by one at a time, again only when a
 * worker ended between handing it over and noting so.
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

  // Messages for which there is no place now are taken when a delivery ends: that calls for another look.
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

  // A database that is away for a moment must not make a message go out twice.
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

/** How long to wait after the n-th try: twice as long each time, up to a minute, and not in step with others. */
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
