import { type Call, type Deps, keys } from "../../deps.ts";
import type { NewFact } from "../../events/fact.ts";
import { type Language, languages } from "../../messages/language.ts";
import type { MailKind, NoticeKind } from "../../messages/mail_texts.ts";
import { type MailCodes, sealMail } from "../../security/mailed_secret.ts";

/** Settings of mails. */
export type MailSettings = {
  /** The maximum number of codes sent to a user within the window. */
  readonly mailSendsPerUser: number;
  /** The maximum number of codes of one purpose sent to an address within the window. */
  readonly mailSendsPerAddress: number;
  readonly mailSendWindowSeconds: number;
  /** The language of mails if a request prefers none. */
  readonly mailLanguage: Language;
};

/** The language of a mail that a call sends: the one that the call asks for. */
export const languageOfMail = (
  { values }: Pick<Call, "values">,
  settings: Pick<MailSettings, "mailLanguage">,
): Language => values.get(keys.language) ?? settings.mailLanguage;

/** What a code is for. Those of `first_run` and `recovery` are links for administrators, which no mail carries. */
export type CodePurpose = "email" | "password" | "invitation" | "registration" | "sign_in" | "first_run" | "recovery";

/** A mail requested by a fact. */
export type NewMail = {
  readonly kind: Exclude<MailKind, NoticeKind>;
  /** The purpose that it is counted under. */
  readonly purpose: CodePurpose | "sign_in_known";
  readonly email: string;
  readonly language: Language;
  readonly codes: MailCodes;
  readonly expirationDate: Date;
  /** The ordinal of this send to the address. */
  readonly nth: bigint;
};

/** A mail as a fact's secret holds it, with sealed codes. */
export const mailSecret = ({ secrets }: Pick<Deps, "secrets">, id: string, { codes, ...mail }: NewMail) => ({
  id,
  kind: mail.kind,
  purpose: mail.purpose,
  email: mail.email,
  language: mail.language,
  sealed: Buffer.from(sealMail(secrets.keyring, { id, email: mail.email }, codes)).toString("hex"),
  expirationDate: mail.expirationDate.toISOString(),
  nth: String(mail.nth),
});

export const sendsMail = ({ secret }: Pick<NewFact, "secret">): boolean =>
  secret !== null && typeof secret === "object" && "mail" in secret;

/** SQL for the language of mails to a user: the user's preference, if we have texts in it. */
export const languageOf = (user: string, otherwise: string): string => `coalesce((
  select l.language from users u join unnest('{${languages.join()}}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = ${user}), ${otherwise})`;
