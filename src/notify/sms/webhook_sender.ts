import { signedPost, type Webhook } from "../webhook.ts";
import type { Sender } from "./sms.ts";

/** Posts each SMS as JSON. */
export function webhookSender(webhook: Webhook, clock: () => Date): Sender {
  const send = signedPost(webhook, clock);
  return ({ id, to, text }, signal) => send({ type: "sms", data: { id, to, text } }, signal);
}
