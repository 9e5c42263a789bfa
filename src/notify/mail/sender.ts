import { logSender } from "../log_sender.ts";
import type { Webhook } from "../webhook.ts";
import type { MailSender } from "./mail.ts";
import { type SmtpServer, smtpSender } from "./smtp_sender.ts";
import { mailWebhookSender } from "./webhook_sender.ts";

export type MailSenderSettings =
  | { readonly kind: "log"; readonly file: string }
  | ({ readonly kind: "webhook" } & Webhook)
  | ({ readonly kind: "smtp" } & SmtpServer);

export function mailSender(settings: MailSenderSettings, clock: () => Date): MailSender {
  switch (settings.kind) {
    case "log":
      return logSender(settings.file, clock);
    case "webhook":
      return mailWebhookSender(settings, clock);
    case "smtp":
      return smtpSender(settings);
  }
}
