import type { Sql } from "../../postgres/pool/connect.ts";
import {
  backoffSeconds,
  type Delivery,
  type DeliveryOptions,
  failureOf,
  isUnanswered,
  startDeliveries,
} from "../deliveries.ts";
import { type Destination, hostOf, type Outcome, rememberSilence, type Silences } from "../silence.ts";
import { buryLogout, forgetLogout, type LeasedLogout, postponeLogouts, takeLogouts } from "./outbox.ts";

/**
 * Notifies an application of a sign-out. Returns the status of the response, or undefined if the application does not need to know; throws
 * if it cannot be reached.
 */
export type LogoutSender = (message: LeasedLogout) => Promise<number | undefined>;

export type LogoutWorkerOptions = Pick<
  DeliveryOptions<LeasedLogout>,
  "onWritten" | "timeoutMs" | "everyMs" | "onError"
> & {
  readonly sql: Sql;
  readonly sender: LogoutSender;
  readonly clock: () => Date;
  /** How long sign-outs are retried at an application that accepts none. */
  readonly retrySeconds: number;
  /** Called with the outcome of each attempt, for the log. */
  readonly onDelivery: (message: LeasedLogout, delivery: Delivery) => void;
};

/** Notifies applications of the sign-outs in the outbox. */
export function startLogoutWorker(options: LogoutWorkerOptions): AsyncDisposable {
  const silences = rememberSilence(options.timeoutMs);
  return startDeliveries<LeasedLogout>({
    onWritten: options.onWritten,
    timeoutMs: options.timeoutMs,
    everyMs: options.everyMs,
    onDelivery: options.onDelivery,
    onError: options.onError,
    take: (turn) => takeLogouts(options.sql, turn),
    deliver: (message) => deliver({ ...options, silences }, message),
    settle: (message, delivery) => settle(options.sql, message, delivery),
  });
}

type WithSilences = LogoutWorkerOptions & { readonly silences: Silences };

async function deliver(options: WithSilences, message: LeasedLogout): Promise<Delivery> {
  const to = destinationOf(message);
  const seconds = to ? options.silences.wait(to) : 0;
  if (seconds > 0) {
    // Sign-outs that wait for the same host do not all come back at once.
    const wait = { failure: "its host does not answer", seconds: seconds * (1 + Math.random()) };
    return { ...later(options, message, wait), isUntried: true };
  }
  const { delivery, outcome } = await tryToDeliver(options, message);
  if (to) options.silences.ended(to, outcome);
  return delivery;
}

/** The destination of a sign-out: a host has one name, however its URI spells it. */
function destinationOf({ owner, appId, oidc }: LeasedLogout): Destination | undefined {
  const uri = String(oidc?.backChannelLogoutUri);
  // Node 20 has no URL.parse.
  return URL.canParse(uri) ? { owner, receiver: appId, host: hostOf(uri) } : undefined;
}

type Try = { readonly delivery: Delivery; readonly outcome: Outcome };

async function tryToDeliver(options: LogoutWorkerOptions, message: LeasedLogout): Promise<Try> {
  const seconds = backoffSeconds(message.attempts);
  try {
    const status = await options.sender(message);
    if (status === undefined) return { delivery: { kind: "superseded" }, outcome: "failed" };
    return { delivery: deliveryOf(options, message, status), outcome: "answered" };
  } catch (error) {
    const delivery = later(options, message, { failure: failureOf(error), seconds });
    return { delivery, outcome: isUnanswered(error) ? "unanswered" : "failed" };
  }
}

function deliveryOf(options: LogoutWorkerOptions, message: LeasedLogout, status: number): Delivery {
  // Back-Channel Logout 1.0, 2.8: 200, or 204 where a framework turns an empty response into that.
  if (status === 200 || status === 204) return { kind: "delivered" };
  const failure = `it answered ${status}`;
  if (isLasting(status)) return { kind: "dead", failure };
  return later(options, message, { failure, seconds: backoffSeconds(message.attempts) });
}

const isLasting = (status: number) => status < 500 && status !== 408 && status !== 425 && status !== 429;

type Wait = { readonly failure: string; readonly seconds: number };

function later(options: LogoutWorkerOptions, message: LeasedLogout, { failure, seconds }: Wait): Delivery {
  const { clock, retrySeconds } = options;
  const until = message.created.getTime() + retrySeconds * 1000;
  return clock().getTime() + seconds * 1000 > until
    ? { kind: "dead", failure }
    : { kind: "postponed", failure, seconds };
}

async function settle(sql: Sql, message: LeasedLogout, delivery: Delivery): Promise<void> {
  switch (delivery.kind) {
    case "delivered":
    case "superseded":
      await forgetLogout(sql, message);
      break;
    case "postponed":
      await postponeLogouts(sql, message, delivery);
      break;
    case "dead":
      await buryLogout(sql, message, delivery.failure);
      break;
  }
}
