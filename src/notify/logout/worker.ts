import type { Sql } from "../../postgres/pool/connect.ts";
import { backoffSeconds, type Delivery, type DeliveryOptions, startDeliveries } from "../deliveries.ts";
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
  /** How long an application that accepts nothing is retried. */
  readonly retrySeconds: number;
  /** Called with the outcome of each attempt, for the log. */
  readonly onDelivery: (message: LeasedLogout, delivery: Delivery) => void;
};

/** Notifies applications of the sign-outs in the outbox. */
export const startLogoutWorker = (options: LogoutWorkerOptions): AsyncDisposable =>
  startDeliveries<LeasedLogout>({
    onWritten: options.onWritten,
    timeoutMs: options.timeoutMs,
    everyMs: options.everyMs,
    onDelivery: options.onDelivery,
    onError: options.onError,
    take: (turn) => takeLogouts(options.sql, turn),
    deliver: (message) => tryToDeliver(options, message),
    settle: (message, delivery) => settle(options.sql, message, delivery),
  });

async function tryToDeliver(options: LogoutWorkerOptions, message: LeasedLogout): Promise<Delivery> {
  try {
    const status = await options.sender(message);
    if (status === undefined) return { kind: "superseded" };
    // Back-Channel Logout 1.0, 2.8: 200, or 204 where a framework turns an empty response into that.
    if (status === 200 || status === 204) return { kind: "delivered" };
    const failure = `it answered ${status}`;
    return isLasting(status) ? { kind: "dead", failure } : later(options, message, failure);
  } catch (error) {
    return later(options, message, failureOf(error));
  }
}

const isLasting = (status: number) => status < 500 && status !== 408 && status !== 425 && status !== 429;

function later({ clock, retrySeconds }: LogoutWorkerOptions, message: LeasedLogout, failure: string): Delivery {
  const seconds = backoffSeconds(message.attempts);
  const until = message.created.getTime() + retrySeconds * 1000;
  return clock().getTime() + seconds * 1000 > until
    ? { kind: "dead", failure }
    : { kind: "postponed", failure, seconds };
}

function failureOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === "ABORT_ERR") return "it did not answer in time";
  return typeof code === "string" ? `it cannot be reached (${code})` : String(message).slice(0, 200);
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
