import { createHmac } from "node:crypto";
import { post } from "./post.ts";
import type { Sender } from "./sms.ts";

/** The URL that SMS are posted to, and the key that signs them. */
export type Webhook = { readonly url: string; readonly secret: Uint8Array };

/** Posts each SMS as JSON, signed as https://www.standardwebhooks.com describes, so that libraries verify it. */
export const webhookSender =
  ({ url, secret }: Webhook, clock: () => Date): Sender =>
  ({ id, to, text }, signal) => {
    const now = clock();
    const timestamp = String(Math.floor(now.getTime() / 1000));
    const body = JSON.stringify({ type: "sms", timestamp: now.toISOString(), data: { id, to, text } });
    const signature = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    };
    return post(url, { headers, body }, signal);
  };
