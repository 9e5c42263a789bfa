import { logSender } from "../log_sender.ts";
import type { Webhook } from "../webhook.ts";
import type { Sender } from "./sms.ts";
import { type TwilioAccount, twilioSender } from "./twilio_sender.ts";
import { webhookSender } from "./webhook_sender.ts";

export type SmsSettings =
  | { readonly kind: "log"; readonly file: string }
  | ({ readonly kind: "webhook" } & Webhook)
  | ({ readonly kind: "twilio" } & TwilioAccount);

export function smsSender(settings: SmsSettings, clock: () => Date): Sender {
  switch (settings.kind) {
    case "log":
      return logSender(settings.file, clock);
    case "webhook":
      return webhookSender(settings, clock);
    case "twilio":
      return twilioSender(settings);
  }
}
