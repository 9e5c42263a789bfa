import { createHmac } from "node:crypto";
import { post } from "./post.ts";

/** The URL to post messages to, and the key that signs them. */
export type Webhook = { readonly url: string; readonly secret: Uint8Array };

type Posted = { readonly type: string; readonly data: Readonly<Record<string, string>> & { readonly id: string } };

/** The signed parts of a post: the id of a message, its body, and the time of the attempt. */
type Signed = { readonly id: string; readonly body: string; readonly now: Date };

/** The headers of a post as described at https://www.standardwebhooks.com, with a signature for each secret. */
export function signedHeaders(secrets: readonly Uint8Array[], { id, body, now }: Signed) {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const signatures = secrets.map(
    (secret) => `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
  );
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

/** Signs posts, so that libraries can verify them. */
export const signedPost =
  ({ url, secret }: Webhook, clock: () => Date) =>
  ({ type, data }: Posted, signal: AbortSignal): Promise<void> => {
    const now = clock();
    const body = JSON.stringify({ type, timestamp: now.toISOString(), data });
    return post(url, { headers: signedHeaders([secret], { id: data.id, body, now }), body }, signal);
  };
