import type { Deps } from "../deps.ts";
import { deletePlaces } from "../events/attempt_places.ts";
import { type Chore, type Deleted, deleteDue, inOrder, type Stretch } from "../events/sweep.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { factorChores } from "./factors/factor_expiry.ts";
import type { MailSettings } from "./verification/mail.ts";
import type { PhoneSettings } from "./verification/phone_code.ts";

// A session's first event states when it ends, so expiry is not an event of its own. A node's clock may be ahead of the database's, which
// decides whether a row must exist when the log is replayed.
const marginSeconds = 60;

// A node whose clock is slow may still count in an earlier minute.
const attemptSeconds = 600;

const bearers = { table: "bearers", key: "hash" };

/** Deletes expired sessions, and codes and tokens that can no longer be presented. */
export const expiryChores = (deps: Deps, settings: PhoneSettings & MailSettings): readonly Chore[] => {
  const { sql, clock } = deps;
  const secondsAgo = (seconds: number) => new Date(clock().getTime() - seconds * 1000);
  return [
    inOrder("expired sessions", (stretch) => deleteSessions(sql, secondsAgo(marginSeconds), stretch)),
    inOrder("expired bearers", ({ from, most }) => deleteDue(sql, bearers, { from, most, until: clock() })),
    {
      name: "counted sends of codes",
      batch: async (most) => (await deleteSends(sql, secondsAgo(settings.phoneSendWindowSeconds), most)).count,
    },
    {
      name: "counted mails",
      batch: async (most) => (await deleteMailSends(sql, secondsAgo(settings.mailSendWindowSeconds), most)).count,
    },
    { name: "old requests for a new password", batch: async (most) => (await deleteRequests(sql, most)).count },
    ...factorChores(deps),
    { name: "browsers known no more", batch: async (most) => (await deleteKnown(sql, clock(), most)).count },
    {
      name: "failed sign-ins of unknown callers",
      batch: async (most) => (await deleteFailures(sql, clock(), most)).count,
    },
    {
      name: "counted attempts",
      batch: async (most) => (await deletePlaces(sql, secondsAgo(attemptSeconds), most)).count,
    },
    { name: "expired codes of mails", batch: async (most) => (await deleteMailCodes(sql, clock(), most)).count },
  ];
};

const deleteSessions = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from sessions where session_id in (
      select session_id from sessions where expiration_date >= ${from} and expiration_date <= ${until}
      order by expiration_date limit ${most} for update skip locked)
    returning session_id, expiration_date
  ),
  theirs as (delete from bearers b using gone where b.session_id = gone.session_id)
  select count(*)::int as count, max(expiration_date) as last from gone`;

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

const deleteKnown = (sql: Sql, now: Date, most: number) => sql`
  delete from known_browsers where hash in (
    select hash from known_browsers where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;

const deleteFailures = (sql: Sql, now: Date, most: number) => sql`
  delete from sign_in_failures where subject in (
    select subject from sign_in_failures where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;

// A worker answers them within a second; one still waiting has failed every time.
const deleteRequests = (sql: Sql, most: number) => sql`
  delete from password_reset_requests where request_id in (
    select request_id from password_reset_requests where created < now() - interval '10 minutes'
    limit ${most} for update skip locked)`;
