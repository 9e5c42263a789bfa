import type { Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { NewFact } from "../../events/fact.ts";
import { type Language, languages } from "../../messages/language.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type EmailCodeOf, type MailCodes, makeEmailCode, sealMail } from "../../security/mail_code.ts";
import { codeAttempts } from "./verification.ts";

/** Settings of mails. */
export type MailSettings = {
  /** The most codes sent to a user within the window. */
  readonly mailSendsPerUser: number;
  /** The most codes of one purpose sent to an address within the window. */
  readonly mailSendsPerAddress: number;
  readonly mailSendWindowSeconds: number;
  /** The language of mails if a request prefers none. */
  readonly mailLanguage: Language;
};

/** The lifetime of a code that verifies an address; mail may be slow. */
export const emailCodeSeconds = 3600;

/** How much of the sending limits is used: the times of the sends that must leave the window before the next one. */
export type MailSends = { readonly userLimit: Date | null; readonly addressLimit: Date | null; readonly nth: bigint };

/** A mail requested by a fact. */
export type NewMail = {
  readonly kind:
    | "verify_email"
    | "reset_password"
    | "invitation"
    | "organization_invitation"
    | "registration"
    | "registration_known"
    | "sign_in";
  readonly purpose: "email" | "password" | "invitation" | "registration" | "sign_in";
  readonly email: string;
  readonly language: Language;
  readonly codes: MailCodes;
  readonly expirationDate: Date;
  /** The ordinal of this send to the address. */
  readonly nth: bigint;
};

/** Composes the columns of the use of the limits, for SQL expressions of the user's id and the address. */
// Compared as a row, the columns fit one index only, whatever the planner knows of the table.
export const mailSendsColumns = (
  { user, email, purpose }: { user: string; email: string; purpose: NewMail["purpose"] },
  { mailSendsPerUser, mailSendsPerAddress }: MailSettings,
): string => `
  (select s.time from mail_sends s
   where (s.user_id, s.purpose, s.time)
     between (${user}, '${purpose}', timestamptz '-infinity') and (${user}, '${purpose}', timestamptz 'infinity')
   order by s.user_id desc, s.purpose desc, s.time desc offset ${mailSendsPerUser - 1} limit 1) as "userLimit",
  ${addressSendsColumns({ email, purpose }, { mailSendsPerAddress })}`;

/** The same of the limit of an address alone. */
export const addressSendsColumns = (
  { email, purpose }: { email: string; purpose: NewMail["purpose"] },
  { mailSendsPerAddress }: Pick<MailSettings, "mailSendsPerAddress">,
): string => `(select s.time from mail_sends s where s.email = lower(${email}) and s.purpose = '${purpose}'
   order by s.n desc offset ${mailSendsPerAddress - 1} limit 1) as "addressLimit",
  (select coalesce(max(s.n), 0) + 1 from mail_sends s
   where s.email = lower(${email}) and s.purpose = '${purpose}') as nth`;

/** A user, the address, and what a mail to it is for. */
type MailTo = { readonly userId: string; readonly email: string; readonly purpose: NewMail["purpose"] };

/** Reads the use of the limits by mails of one purpose. */
export async function mailSendsRead(sql: Sql, { userId, email, purpose }: MailTo, settings: MailSettings) {
  const columns = mailSendsColumns({ user: "$1::text", email: "$2::text", purpose }, settings);
  const [sends] = await sql.unsafe<MailSends[]>(`select ${columns}`, [userId, email], { prepare: true });
  return sends;
}

/** The seconds until the next mail may be sent; 0 or less if it may be sent now. */
export function mailWaitSeconds(sends: MailSends, { mailSendWindowSeconds }: MailSettings, now: Date): number {
  const busy = Math.max(sends.userLimit?.getTime() ?? 0, sends.addressLimit?.getTime() ?? 0);
  return Math.ceil(busy / 1000 + mailSendWindowSeconds - now.getTime() / 1000);
}

export function refuseTooManyMails(sends: MailSends, settings: MailSettings, now: Date): void {
  const retrySeconds = mailWaitSeconds(sends, settings, now);
  if (retrySeconds > 0) throw refuse.because("SEND_LIMIT", { retrySeconds });
}

/** A code as a fact's secret holds it. */
export type MailCodeSecret = {
  readonly id: string;
  readonly purpose: NewMail["purpose"];
  readonly email: string;
  readonly mac: string;
  readonly mailId: string | null;
  readonly expirationDate: string;
};

/** Makes a code that verifies an address, with a mail unless the response returns it. */
export function newEmailCode(deps: Pick<Deps, "secrets" | "clock">, of: EmailCodeOf, send?: EmailSend) {
  const { code, mac } = makeEmailCode(deps.secrets.keyring, of);
  const { id, email } = of;
  const expirationDate = new Date(deps.clock().getTime() + emailCodeSeconds * 1000);
  const mailCode: MailCodeSecret = {
    id,
    purpose: "email",
    email,
    mac: mac.toString("hex"),
    mailId: send ? id : null,
    expirationDate: expirationDate.toISOString(),
  };
  if (!send) return { code, secret: { mailCode } };
  const { loginName, ...rest } = send;
  const codes = [{ loginName, code }];
  const mail = { kind: "verify_email", purpose: "email", email, codes, expirationDate, ...rest } as const;
  return { code, secret: { mailCode, mail: mailSecret(deps, id, mail) } };
}

/** How the code for an address is sent. */
export type EmailSend = Pick<NewMail, "language" | "nth"> & { readonly loginName: string };

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

/** SQL for the language of mails to a user: the one that the user prefers, if we have texts in it. */
export const languageOf = (user: string, otherwise: string): string => `coalesce((
  select l.language from users u join unnest('{${languages.join()}}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = ${user}), ${otherwise})`;

/**
 * Credentials of a fact whose secret may hold a code and the mail that carries it, for a SQL expression of the user's id. A code for an
 * address replaces the previous one, and a mail counts against the limits, of `counted` if that is not the user.
 */
export const keepMailCodeOf = (user: string, counted = user): readonly string[] => [
  `insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id)
   select c.code->>'id', i.owner, ${user}, c.code->>'purpose', c.code->>'email', c.code->>'mailId',
     decode(c.code->>'mac', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor
   from $input i cross join lateral (select i.secret->'mailCode' as code) c where c.code is not null
   on conflict (user_id) where purpose = 'email' do update set mail_code_id = excluded.mail_code_id,
     email = excluded.email, mail_id = excluded.mail_id, mac = excluded.mac, attempts = 0,
     expiration_date = excluded.expiration_date, creator_id = excluded.creator_id`,
  `insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select m.mail->>'id', i.owner, ${user}, m.mail->>'kind', m.mail->>'email', ${languageOf(user, "m.mail->>'language'")},
     decode(m.mail->>'sealed', 'hex'), (m.mail->>'expirationDate')::timestamptz, i.time
   from $input i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null`,
  `insert into mail_sends (email, purpose, n, user_id, time)
   select lower(m.mail->>'email'), m.mail->>'purpose', (m.mail->>'nth')::bigint, ${counted}, i.time
   from $input i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null`,
];

/** The same for a fact about the user. */
export const keepMailCode: readonly string[] = keepMailCodeOf("i.stream");

/** Credentials of a fact that invalidates the codes of some purposes; a mail without a valid code is not sent. */
export const dropMailCodes = (...purposes: readonly NewMail["purpose"][]): readonly string[] => [
  `delete from mail_codes c using $facts f where c.user_id = f.stream and c.purpose in ('${purposes.join("', '")}')`,
];

/** Credentials of a fact that invalidates all mailed codes. */
export const dropAllMailCodes: readonly string[] = [
  `delete from mail_codes c using $facts f where c.user_id = f.stream`,
];

/** A code for an address, with this attempt already counted. */
export type TriedEmailCode = {
  readonly id: string;
  readonly email: string;
  readonly mac: Uint8Array;
  /** Whether it was mailed to the address, not returned. */
  readonly wasMailed: boolean;
};

/** Counts an attempt at the user's code before checking it; undefined if none is left or no code is valid. */
export async function reserveEmailAttempt(sql: Sql, userId: string, now: Date): Promise<TriedEmailCode | undefined> {
  const [tried] = await sql<TriedEmailCode[]>`
    update mail_codes set attempts = attempts + 1
    where user_id = ${userId} and purpose = 'email' and attempts < ${codeAttempts} and expiration_date > ${now}
    returning mail_code_id as id, email, mac, mail_id is not null as "wasMailed"`;
  return tried;
}
