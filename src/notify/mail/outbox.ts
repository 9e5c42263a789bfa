import type { Chore } from "../../events/sweep.ts";
import type { Language } from "../../messages/catalogue.ts";
import { type MailKind, plainNotices } from "../../messages/mail_texts.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { outboxHealth } from "../health.ts";
import { type Turn, takeInTurns } from "../turns.ts";

/** A mail that a worker holds under a lease. */
export type LeasedMail = {
  readonly id: string;
  readonly owner: string;
  readonly userId: string;
  readonly attempts: number;
  readonly kind: MailKind;
  readonly email: string;
  readonly language: Language;
  readonly sealed: Uint8Array | null;
  readonly expiration: Date;
  /** The user's login name; null once the user is gone for good. Empty in mails to people who join an organization and are no users yet. */
  readonly loginName: string | null;
  /** Whether one of its codes is still valid, or it never had any. */
  readonly isNeeded: boolean;
};

const deadDays = 7;

/** Leases mails that are due; no other worker takes them until the lease expires. */
export const takeMails = (sql: Sql, turn: Turn) =>
  takeInTurns<LeasedMail>(sql, { table: "mail_messages", key: "mail_id", lease: lease(sql, turn) }, turn);

/** SQL for the login name of the user of a mail `m`; null once the user is gone for good, and empty for somebody who is no user yet. */
export const mailLoginName = `case when m.kind in ('organization_invitation', 'registration', 'registration_known') then ''
      else (select u.username from all_users u
        where u.user_id = m.user_id and (not u.deleted or u.erasure_date is not null)) end`;

const hasCodes = "exists (select from mail_codes c where c.mail_id = m.mail_id)";

/** SQL for whether a mail `m` that was given up still has its whole content, and a valid code if it has any. */
export const mailIsKept = `case when m.sealed is null then m.kind in ('${plainNotices.join("', '")}')
      else m.kind = 'registration_known' or ${hasCodes} end`;

const lease = (sql: Sql, { leaseSeconds }: Turn) => sql`
  update mail_messages m set attempts = m.attempts + 1, due = now() + make_interval(secs => ${leaseSeconds})
  from due d where m.mail_id = d.id
  returning m.mail_id as id, m.owner, m.user_id as "userId", m.attempts, m.kind, m.email, m.language, m.sealed,
    m.expiration_date as expiration, ${sql.unsafe(mailLoginName)} as "loginName",
    m.sealed is null or m.kind = 'registration_known' or ${sql.unsafe(hasCodes)} as "isNeeded"`;

/** Deletes a mail that was delivered or is obsolete. */
export const forgetMail = (sql: Sql, { id }: LeasedMail) => sql`delete from mail_messages where mail_id = ${id}`;

/** Postpones a mail, unless another worker has taken it since. */
export const postponeMail = (
  sql: Sql,
  { id, attempts }: LeasedMail,
  { failure, seconds }: { failure: string; seconds: number },
) => sql`
  update mail_messages set due = now() + make_interval(secs => ${seconds}), failure = ${failure}
  where mail_id = ${id} and attempts = ${attempts} and dead is null`;

/**
 * Gives up on a mail, unless another worker has taken it since. Its codes stay valid, in case it arrived after all, and so it can be sent
 * again.
 */
export const buryMail = (sql: Sql, { id, attempts }: LeasedMail, failure: string) => sql`
  update mail_messages set dead = now(), failure = ${failure}
  where mail_id = ${id} and attempts = ${attempts} and dead is null`;

export const mailHealth = (sql: Sql) => outboxHealth(sql, { table: "mail_messages" });

/** Deletes mails that were given up long ago, and before that the codes in them, once they have expired. */
export const mailChores = ({ sql, clock }: { sql: Sql; clock: () => Date }): readonly Chore[] => [
  { name: "codes of dead mails", batch: async (most) => (await emptyDeadMails(sql, clock(), most)).count },
  { name: "dead mails", batch: async (most) => (await forgetDeadMails(sql, most)).count },
];

const emptyDeadMails = (sql: Sql, now: Date, most: number) => sql`
  update mail_messages set sealed = null where mail_id in (
    select mail_id from mail_messages where dead is not null and sealed is not null and expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;

const forgetDeadMails = (sql: Sql, most: number) => sql`
  delete from mail_messages where mail_id in (
    select mail_id from mail_messages where dead < now() - make_interval(days => ${deadDays})
    order by dead limit ${most} for update skip locked)`;
