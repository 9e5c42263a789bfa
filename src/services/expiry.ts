import { type Deps, systemCall } from "../deps.ts";
import { factOf, next, type Versioned } from "../events/fact.ts";
import { lostRace } from "../events/log.ts";
import type { Chore } from "../events/sweep.ts";
import type { Sql } from "../postgres/connect.ts";
import type { MailSettings } from "./mail_code.ts";
import type { PhoneSettings } from "./phone_code.ts";

/** Ends expired sessions, as facts, and deletes tokens that can no longer be presented. */
export const expiryChores = (deps: Deps, settings: PhoneSettings & MailSettings): readonly Chore[] => {
  const { sql, clock } = deps;
  const secondsAgo = (seconds: number) => new Date(clock().getTime() - seconds * 1000);
  return [
    { name: "expired sessions", batch: (most) => endSessions(deps, most) },
    { name: "expired bearers", batch: async (most) => (await deleteBearers(sql, clock(), most)).count },
    {
      name: "counted sends of codes",
      batch: async (most) => (await deleteSends(sql, secondsAgo(settings.phoneSendWindowSeconds), most)).count,
    },
    {
      name: "counted mails",
      batch: async (most) => (await deleteMailSends(sql, secondsAgo(settings.mailSendWindowSeconds), most)).count,
    },
    { name: "old requests for a new password", batch: async (most) => (await deleteRequests(sql, most)).count },
    { name: "expired codes of mails", batch: async (most) => (await deleteMailCodes(sql, clock(), most)).count },
  ];
};

async function endSessions({ log, sql, clock, ids }: Deps, most: number): Promise<number> {
  const rows = await expiredSessions(sql, clock(), most);
  // A session that its user ends at the same moment loses a race, for that session only.
  const ends = await Promise.all(rows.map(({ userId, ...row }) => end(row, userId).catch(lostRace)));
  return ends.filter((ended) => ended).length;

  function end(row: Versioned, userId: string): Promise<boolean> {
    const ended = factOf("session", next(row, clock()), { case: "ended", value: { userId } });
    return log.append(systemCall(ids()), [ended], true);
  }
}

const expiredSessions = (sql: Sql, now: Date, most: number) => sql<(Versioned & { userId: string })[]>`
  select session_id as id, owner, user_id as "userId", version, created, changed from sessions
  where expiration_date <= ${now} order by expiration_date limit ${most}`;

const deleteBearers = (sql: Sql, now: Date, most: number) => sql`
  delete from bearers where hash in (
    select hash from bearers where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;

const deleteSends = (sql: Sql, before: Date, most: number) => sql`
  delete from phone_sends where (phone, n) in (
    select phone, n from phone_sends where time < ${before} order by time limit ${most} for update skip locked)`;

const deleteMailSends = (sql: Sql, before: Date, most: number) => sql`
  delete from mail_sends where (email, purpose, n) in (
    select email, purpose, n from mail_sends where time < ${before} order by time limit ${most} for update skip locked)`;

const deleteMailCodes = (sql: Sql, now: Date, most: number) => sql`
  delete from mail_codes where mail_code_id in (
    select mail_code_id from mail_codes where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;

// A worker answers them within a second; one that still waits failed each time.
const deleteRequests = (sql: Sql, most: number) => sql`
  delete from password_reset_requests where request_id in (
    select request_id from password_reset_requests where created < now() - interval '10 minutes'
    limit ${most} for update skip locked)`;
