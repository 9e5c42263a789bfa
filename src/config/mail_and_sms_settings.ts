import { languages } from "../messages/language.ts";
import {
  codeUrl,
  httpUrl,
  mailbox,
  milliseconds,
  oneOf,
  region,
  smsText,
  smtpUrl,
  someOf,
  text,
  token,
  webhookSecret,
  whole,
} from "./setting.ts";

/** How SMS and mails are sent. */
export const mailAndSmsSettings = {
  phoneDefaultRegion: region(
    "PHONE_DEFAULT_REGION",
    "Region of phone numbers without a prefix (`CH`); empty refuses them",
  ),
  phoneSendsPerUser: whole("PHONE_SENDS_PER_USER", 10, "Codes sent for one user within the window; then SEND_LIMIT"),
  phoneSendsPerNumber: whole(
    "PHONE_SENDS_PER_NUMBER",
    20,
    "Codes sent to one number within the window; then SEND_LIMIT",
  ),
  phoneSendWindowSeconds: whole("PHONE_SEND_WINDOW_SECONDS", 3_600, "Window in which sent codes are counted"),
  smsSender: oneOf(
    "SMS_SENDER",
    ["log", "webhook", "twilio"],
    "How SMS are sent: to `sms.log` in the data folder, to a signed webhook, or through the Twilio API",
  ),
  smsText: smsText("SMS_TEXT", "{code} is your verification code. It is valid for 10 minutes.", "Text around `{code}`"),
  smsAttempts: whole("SMS_ATTEMPTS", 10, "Attempts to send an SMS before giving up"),
  smsTimeoutMs: milliseconds("SMS_TIMEOUT_MS", 10_000, "Longest wait for the response of the SMS provider"),
  smsWebhookUrl: httpUrl("SMS_WEBHOOK_URL", "", "URL to which each SMS is posted"),
  smsWebhookSecret: webhookSecret(
    "SMS_WEBHOOK_SECRET",
    "Signing secret: Base64 of 24 to 64 bytes, with or without the prefix `whsec_`",
  ),
  smsTwilioUrl: httpUrl("SMS_TWILIO_URL", "https://api.twilio.com", "Twilio, or a service with the same API"),
  smsTwilioAccountSid: token("SMS_TWILIO_ACCOUNT_SID", "Account at Twilio"),
  smsTwilioAuthToken: token("SMS_TWILIO_AUTH_TOKEN", "Password of the account"),
  smsTwilioFrom: text("SMS_TWILIO_FROM", "", "Sender: a number, a name, or a messaging service (`MG…`)"),
  mailSender: oneOf(
    "MAIL_SENDER",
    ["log", "smtp", "webhook"],
    "How mails are sent: to `mail.log` in the data folder, by SMTP, or to a signed webhook",
  ),
  mailFrom: mailbox(
    "MAIL_FROM",
    "Sender of mails over SMTP: `no-reply@example.com` or `Example <no-reply@example.com>`",
  ),
  mailSmtpUrl: smtpUrl(
    "MAIL_SMTP_URL",
    "Mail server: `smtp://user:password@host:587` with STARTTLS, or `smtps://…:465`; user and password percent-encoded",
  ),
  mailSmtpStarttls: oneOf(
    "MAIL_SMTP_STARTTLS",
    ["required", "off"],
    "Whether an `smtp://` server must support encryption; off is not allowed with a password",
  ),
  mailSmtpCaFile: text(
    "MAIL_SMTP_CA_FILE",
    "",
    "Certificate authorities for the mail server, in PEM, instead of those that Node trusts",
  ),
  mailWebhookUrl: httpUrl("MAIL_WEBHOOK_URL", "", "URL to which each mail is posted"),
  mailWebhookSecret: webhookSecret(
    "MAIL_WEBHOOK_SECRET",
    "Signing secret: Base64 of 24 to 64 bytes, with or without the prefix `whsec_`",
  ),
  mailAttempts: whole("MAIL_ATTEMPTS", 10, "Attempts to send a mail before giving up"),
  mailTimeoutMs: milliseconds(
    "MAIL_TIMEOUT_MS",
    30_000,
    "Longest wait for the mail server or the webhook to accept a mail",
  ),
  mailLanguage: oneOf("MAIL_LANGUAGE", languages, "Language of mails if the call has no preference"),
  passwordCodeUrl: codeUrl(
    "PASSWORD_CODE_URL",
    "Your page for setting a password with a mailed code: `https://app.example/password#{code}`; if empty, ours",
  ),
  mailSendsPerUser: whole("MAIL_SENDS_PER_USER", 10, "Codes mailed for one user within the window; then SEND_LIMIT"),
  mailSendsPerAddress: whole(
    "MAIL_SENDS_PER_ADDRESS",
    20,
    "Codes mailed to one address within the window; then SEND_LIMIT",
  ),
  mailNotices: someOf(
    "MAIL_NOTICES",
    ["password", "factor", "email", "device", "account"],
    "What users are notified of by mail: new passwords, added and removed factors, new email addresses, sign-ins with new browsers, accounts that their owners deleted; or `none`",
  ),
  mailSendWindowSeconds: whole("MAIL_SEND_WINDOW_SECONDS", 3_600, "Window in which mailed codes are counted"),
};
