import { isNotice } from "../../messages/mail_texts.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { openMail, sealEmailLink } from "../../security/mailed_secret.ts";
import type { Keyring } from "../../security/seal.ts";
import { type Delivery, type DeliveryOptions, notDelivered, startDeliveries } from "../deliveries.ts";
import { NotTaken } from "../not_taken.ts";
import { type CodePages, type MailedCode, type MailSender, mailOf } from "./mail.ts";
import { buryMail, forgetMail, type LeasedMail, postponeMail, takeMails } from "./outbox.ts";

export type MailWorkerOptions = Pick<DeliveryOptions<LeasedMail>, "onWritten" | "timeoutMs" | "everyMs" | "onError"> & {
  readonly sql: Sql;
  readonly keyring: Keyring;
  readonly sender: MailSender;
  readonly clock: () => Date;
  readonly pages: CodePages;
  readonly attempts: number;
  /** Called with the outcome of each attempt, for the log and the metrics. */
  readonly onDelivery: (message: Pick<LeasedMail, "id" | "userId" | "attempts">, delivery: Delivery) => void;
};

export const startMailWorker = (options: MailWorkerOptions): AsyncDisposable =>
  startDeliveries<LeasedMail>({
    onWritten: options.onWritten,
    timeoutMs: options.timeoutMs,
    everyMs: options.everyMs,
    onDelivery: options.onDelivery,
    onError: options.onError,
    take: (turn) => takeMails(options.sql, turn),
    deliver: (message) => tryToDeliver(options, message),
    settle: (message, delivery) => settle(options.sql, message, delivery),
  });

async function tryToDeliver(options: MailWorkerOptions, message: LeasedMail): Promise<Delivery> {
  const { id, email: to, kind, language } = message;
  const codes = codesOf(options, message);
  if (codes === "superseded") return { kind: "superseded" };
  if (message.expiration <= options.clock()) return { kind: "dead", failure: "its codes expired before it was taken" };
  if (message.attempts > options.attempts) return { kind: "dead", failure: "every try ended with its worker" };
  if (codes === undefined) return { kind: "dead", failure: "no master key opens the codes" };
  try {
    const mail = mailOf({ id, to, kind, language, codes });
    await options.sender(mail, AbortSignal.timeout(options.timeoutMs));
    return { kind: "delivered" };
  } catch (error) {
    const reason = error instanceof NotTaken ? error : new NotTaken("the sender failed");
    return notDelivered(reason, message, options.attempts);
  }
}

type LinkOptions = Pick<MailWorkerOptions, "keyring" | "pages">;

/** The codes of a mail, or only its link if it never had any. */
function codesOf(options: LinkOptions, message: LeasedMail): readonly MailedCode[] | "superseded" | undefined {
  const { isNeeded, sealed, kind, loginName } = message;
  if (!isNeeded || loginName === null) return "superseded";
  if (sealed) return opened(options, message, sealed);
  return isNotice(kind) ? [{ loginName, link: options.pages[kind] }] : "superseded";
}

/** Opens the codes of a mail, with their links; undefined if no master key can. */
function opened(options: LinkOptions, message: LeasedMail, sealed: Uint8Array): readonly MailedCode[] | undefined {
  const { id, email } = message;
  try {
    const codes = openMail(options.keyring, { id, email, sealed });
    return codes.map((mailed) => ({ ...mailed, link: linkOf(options, message, mailed.code) }));
  } catch {
    return undefined;
  }
}

function linkOf({ keyring, pages }: LinkOptions, { kind, owner, userId }: LeasedMail, code = "") {
  const value = kind === "verify_email" ? sealEmailLink(keyring, { owner, userId, code }) : code;
  return pages[kind]?.replaceAll("{code}", encodeURIComponent(value));
}

async function settle(sql: Sql, message: LeasedMail, delivery: Delivery): Promise<void> {
  switch (delivery.kind) {
    case "delivered":
    case "superseded":
      await forgetMail(sql, message);
      break;
    case "postponed":
      await postponeMail(sql, message, delivery);
      break;
    case "dead":
      await buryMail(sql, message, delivery.failure);
      break;
  }
}
