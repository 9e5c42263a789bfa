import { post } from "../post.ts";
import type { Sender } from "./sms.ts";

/** An account at Twilio, or at a service with the same API. */
export type TwilioAccount = {
  readonly url: string;
  readonly account: string;
  readonly password: string;
  /** The sender: a number, a name, or a messaging service. */
  readonly from: string;
};

/** Creates a message at Twilio for each SMS. */
export function twilioSender({ url, account, password, from }: TwilioAccount): Sender {
  const base = url.endsWith("/") ? url : `${url}/`;
  const messages = new URL(`2010-04-01/Accounts/${encodeURIComponent(account)}/Messages.json`, base).href;
  const headers = {
    authorization: `Basic ${Buffer.from(`${account}:${password}`).toString("base64")}`,
    "content-type": "application/x-www-form-urlencoded",
  };
  const sender = /^MG[0-9a-f]{32}$/.test(from) ? "MessagingServiceSid" : "From";
  return ({ to, text }, signal) => {
    const body = new URLSearchParams({ To: to, [sender]: from, Body: text }).toString();
    return post(messages, { headers, body }, signal);
  };
}
