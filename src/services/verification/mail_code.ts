import type { Deps } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type EmailCodeOf, makeEmailCode } from "../../security/mailed_secret.ts";
import { type CodePurpose, languageOf, mailSecret, type NewMail } from "./mail.ts";
import { codeAttempts } from "./verification.ts";

/** The lifetime of a code that verifies an address; mail may be slow. */
export const emailCodeSeconds = 3600;

/** A code as a fact's secret holds it. */
export type MailCodeSecret = {
  readonly id: string;
  readonly purpose: CodePurpose;
  readonly email: string;
  readonly mac: string;
  readonly mailId: string | null;
  readonly expirationDate: string;
  /** The hash of the cookie of the browser that asked for it, in hexadecimal, if a browser did and it matters. */
  readonly browser?: string;
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

/**
 * Credentials of a fact whose secret may hold a code and the mail that carries it, for a SQL expression of the user's id. A code for an
 * address replaces the previous one, and a mail counts against the limits of the user, or of `counted` if that is given.
 */
export const keepMailCodeOf = (user: string, counted = user): readonly string[] => [
  `insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id, browser)
   select c.code->>'id', i.owner, ${user}, c.code->>'purpose', c.code->>'email', c.code->>'mailId',
     decode(c.code->>'mac', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor,
     decode(c.code->>'browser', 'hex')
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
export const dropMailCodes = (...purposes: readonly CodePurpose[]): readonly string[] => [
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
