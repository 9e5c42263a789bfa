import type { Sql } from "../../postgres/pool/connect.ts";
import { openPhoneCode } from "../../security/phone_code.ts";
import type { Keyring } from "../../security/seal.ts";
import { type Delivery, type DeliveryOptions, notDelivered, startDeliveries } from "../deliveries.ts";
import { NotTaken } from "../not_taken.ts";
import { bury, expired, forget, type LeasedSms, postpone, take } from "./outbox.ts";
import type { Sender } from "./sms.ts";

export type SmsWorkerOptions = Pick<DeliveryOptions<LeasedSms>, "onWritten" | "timeoutMs" | "everyMs" | "onError"> & {
  readonly sql: Sql;
  readonly keyring: Keyring;
  readonly sender: Sender;
  readonly clock: () => Date;
  /** The text, with `{code}` in place of the code. */
  readonly text: string;
  readonly attempts: number;
  /** Called with the outcome of each attempt, for the log and the metrics. */
  readonly onDelivery: (message: Pick<LeasedSms, "id" | "userId" | "attempts">, delivery: Delivery) => void;
};

export const startSmsWorker = (options: SmsWorkerOptions): AsyncDisposable =>
  startDeliveries<LeasedSms>({
    onWritten: options.onWritten,
    timeoutMs: options.timeoutMs,
    everyMs: options.everyMs,
    onDelivery: options.onDelivery,
    onError: options.onError,
    take: (turn) => take(options.sql, turn),
    deliver: (message) => tryToDeliver(options, message),
    settle: (message, delivery) => settle(options.sql, message, delivery),
  });

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
