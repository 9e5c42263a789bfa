import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { outboxHealth } from "../health.ts";
import { type Turn, takeInTurns } from "../turns.ts";

/** An SMS that a worker holds under a lease; it is obsolete if it lacks a number or a sealed code. */
export type LeasedSms = {
  readonly id: string;
  readonly owner: string;
  readonly userId: string;
  readonly attempts: number;
  readonly phone: string | null;
  readonly sealed: Uint8Array | null;
  readonly expiration: Date | null;
};

/** An SMS that was given up. */
export type DeadSms = {
  readonly id: string;
  readonly owner: string;
  readonly userId: string;
  readonly created: Date;
  readonly dead: Date;
  readonly attempts: number;
  readonly failure: string;
};

const deadDays = 7;

/**
 * Leases messages that are due; no other worker takes them until the lease expires. Each row was written by the statement that sealed its
 * code, through a trigger on phone_codes.
 */
export const take = (sql: Sql, turn: Turn) =>
  takeInTurns<LeasedSms>(sql, { table: "sms_messages", key: "phone_code_id", lease: lease(sql, turn) }, turn);

const lease = (sql: Sql, { leaseSeconds }: Turn) => sql`
  update sms_messages m set attempts = m.attempts + 1, due = now() + make_interval(secs => ${leaseSeconds})
  from due d left join phone_codes c on c.phone_code_id = d.id where m.phone_code_id = d.id
  returning m.phone_code_id as id, m.owner, m.user_id as "userId", m.attempts, c.phone, c.sealed, c.expiration_date as expiration`;

/** Deletes a message that was delivered or is obsolete, and the sealed form of its code. */
export const forget = (sql: Sql, { id }: LeasedSms) => sql`
  with opened as (update phone_codes set sealed = null where phone_code_id = ${id} and sealed is not null)
  delete from sms_messages where phone_code_id = ${id}`;

/** Postpones a message, unless another worker has taken it since. */
export const postpone = (
  sql: Sql,
  { id, attempts }: LeasedSms,
  { failure, seconds }: { failure: string; seconds: number },
) => sql`
  update sms_messages set due = now() + make_interval(secs => ${seconds}), failure = ${failure}
  where phone_code_id = ${id} and attempts = ${attempts} and dead is null`;

/**
 * Gives up on a message, unless another worker has taken it since. Its code stays valid, in case it arrived after all, and with its sealed
 * form the message can be sent again.
 */
export const bury = (sql: Sql, { id, attempts }: LeasedSms, failure: string) => sql`
  update sms_messages set dead = now(), failure = ${failure}
  where phone_code_id = ${id} and attempts = ${attempts} and dead is null`;

export const smsHealth = (sql: Sql) => outboxHealth(sql, { table: "sms_messages" });

/** Lists the SMS that were given up, the latest first. */
export const deadSms = (sql: Sql, limit: number) => sql<DeadSms[]>`
  select phone_code_id as id, owner, user_id as "userId", created, dead, attempts, failure from sms_messages
  where dead is not null order by dead desc limit ${limit}`;

/** Deletes expired codes, gives up on SMS that were not sent in time, and deletes those given up long ago. */
export const smsChores = ({ sql, clock }: { sql: Sql; clock: () => Date }): readonly Chore[] => [
  { name: "expired phone codes", batch: async (most) => (await expireCodes(sql, clock(), most)).count },
  { name: "dead SMS", batch: async (most) => (await forgetDead(sql, most)).count },
];

const expireCodes = (sql: Sql, now: Date, most: number) => sql`
  with expired as materialized (
    select phone_code_id from phone_codes where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked
  ), gone as (
    delete from phone_codes c using expired e where c.phone_code_id = e.phone_code_id
    returning c.phone_code_id, c.owner, c.user_id, c.sealed
  ), buried as (
    insert into sms_messages (phone_code_id, owner, user_id, created, failure, dead)
    select phone_code_id, owner, user_id, now(), ${expired}, now() from gone where sealed is not null
    on conflict (phone_code_id) do update set dead = excluded.dead, failure = coalesce(sms_messages.failure, excluded.failure)
    where sms_messages.dead is null
  )
  select from gone`;

const forgetDead = (sql: Sql, most: number) => sql`
  delete from sms_messages where phone_code_id in (
    select phone_code_id from sms_messages where dead < now() - make_interval(days => ${deadDays})
    order by dead limit ${most} for update skip locked)`;

/** The failure of an SMS whose code has expired. */
export const expired = "the code expired before the SMS was taken";
