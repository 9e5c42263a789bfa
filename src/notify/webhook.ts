import { createHmac } from "node:crypto";
import { post } from "./post.ts";

/** The URL to post messages to, and the key that signs them. */
export type Webhook = { readonly url: string; readonly secret: Uint8Array };

type Posted = { readonly type: string; readonly data: Readonly<Record<string, string>> & { readonly id: string } };

/** Signs posts as https://www.standardwebhooks.com describes, so that libraries can verify them. */
export const signedPost =
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
