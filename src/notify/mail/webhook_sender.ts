import { signedPost, type Webhook } from "../webhook.ts";
import type { MailSender } from "./mail.ts";

/** Posts each mail as JSON. */
export function mailWebhookSender(webhook: Webhook, clock: () => Date): MailSender {
  const send = signedPost(webhook, clock);
  return ({ id, to, subject, text, html }, signal) =>
    send({ type: "mail", data: { id, to, subject, text, html } }, signal);
}
