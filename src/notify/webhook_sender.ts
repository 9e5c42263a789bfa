import { createHmac } from "node:crypto";
import type { MailSender } from "./mail.ts";
import { post } from "./post.ts";
import type { Sender } from "./sms.ts";

/** The URL that messages are posted to, and the key that signs them. */
export type Webhook = { readonly url: string; readonly secret: Uint8Array };

/** Posts each SMS as JSON. */
export function webhookSender(webhook: Webhook, clock: () => Date): Sender {
  const send = signedPost(webhook, clock);
  return ({ id, to, text }, signal) => send({ type: "sms", data: { id, to, text } }, signal);
}

/** Posts each mail as JSON. */
export function mailWebhookSender(webhook: Webhook, clock: () => Date): MailSender {
  const send = signedPost(webhook, clock);
  return ({ id, to, subject, text, html }, signal) =>
    send({ type: "mail", data: { id, to, subject, text, html } }, signal);
}

type Posted = { readonly type: string; readonly data: Readonly<Record<string, string>> & { readonly id: string } };

/** Signs what is posted as https://www.standardwebhooks.com describes, so that libraries verify it. */
const signedPost =
  ({ url, secret }: Webhook, clock: () => Date) =>
  ({ type, data }: Posted, signal: AbortSignal): Promise<void> => {
    const now = clock();
    const timestamp = String(Math.floor(now.getTime() / 1000));
    const body = JSON.stringify({ type, timestamp: now.toISOString(), data });
    const signature = createHmac("sha256", secret).update(`${data.id}.${timestamp}.${body}`).digest("base64");
    const headers = {
      "content-type": "application/json",
      "webhook-id": data.id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    };
    return post(url, { headers, body }, signal);
  };
