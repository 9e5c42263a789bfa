import type { JsonObject } from "@bufbuild/protobuf";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { outboxHealth } from "../health.ts";
import { type Turn, takeInTurns } from "../turns.ts";

/** A sign-out that a worker holds under a lease, to notify an application. */
export type LeasedLogout = {
  readonly id: string;
  /** The organization of the application; empty if that was gone when the message was written. */
  readonly owner: string;
  readonly attempts: number;
  readonly sessionId: string;
  readonly userId: string;
  readonly appId: string;
  readonly created: Date;
  /** Null once the application is deleted. */
  readonly clientId: string | null;
  /** The configuration of the application. */
  readonly oidc: JsonObject | null;
};

const deadDays = 7;

/**
 * Leases sign-outs that are due; no other worker takes them until the lease expires. Each was written by the statement that ended its
 * session, through a trigger on browser_sessions.
 */
export const takeLogouts = (sql: Sql, turn: Turn) =>
  takeInTurns<LeasedLogout>(sql, { table: "logout_messages", key: "message_id", lease: lease(sql, turn) }, turn);

const lease = (sql: Sql, { leaseSeconds }: Turn) => sql`
  update logout_messages m set attempts = m.attempts + 1, due = now() + make_interval(secs => ${leaseSeconds})
  from due d where m.message_id = d.id
  returning m.message_id as id, m.owner, m.attempts, m.session_id as "sessionId", m.user_id as "userId", m.app_id as "appId", m.created,
    (select a.client_id from applications a where a.app_id = m.app_id) as "clientId",
    (select a.oidc from applications a where a.app_id = m.app_id) as oidc`;

/** SQL for whether the application of a sign-out `m` exists and wants to be notified of it. */
export const logoutIsWanted = `exists (
      select from applications a where a.app_id = m.app_id and coalesce(a.oidc->>'backChannelLogoutUri', '') <> '')`;

/** Deletes a sign-out that the application accepted, or no longer needs to be notified of. */
export const forgetLogout = (sql: Sql, { id }: LeasedLogout) => sql`
  delete from logout_messages where message_id = ${id}`;

const mostPostponed = 1_000;

/**
 * Postpones a sign-out, unless another worker has taken it since, and the next ones waiting for the same application: one that does not
 * respond must not hold up the rest.
 */
export const postponeLogouts = (
  sql: Sql,
  { id, appId, attempts }: Pick<LeasedLogout, "id" | "appId" | "attempts">,
  { failure, seconds }: { failure: string; seconds: number },
) => sql`
  with waiting as materialized (
    select message_id from logout_messages
    where (app_id, due) >= (${appId}, '-infinity'::timestamptz) and (app_id, due) < (${appId}, now() + make_interval(secs => ${seconds}))
      and message_id <> ${id} and dead is null
    order by app_id, due limit ${mostPostponed} for update skip locked
  ), others as (
    update logout_messages m set due = now() + make_interval(secs => ${seconds}), attempts = greatest(attempts, ${attempts})
    from waiting w where m.message_id = w.message_id
  )
  update logout_messages set due = now() + make_interval(secs => ${seconds}), failure = ${failure}
  where message_id = ${id} and attempts = ${attempts} and dead is null`;

/** Gives up on a sign-out, unless another worker has taken it since. */
export const buryLogout = (sql: Sql, { id, attempts }: LeasedLogout, failure: string) => sql`
  update logout_messages set dead = now(), failure = ${failure}
  where message_id = ${id} and attempts = ${attempts} and dead is null`;

export const logoutHealth = (sql: Sql) => outboxHealth(sql, { table: "logout_messages" });

/** Deletes sign-outs that were given up long ago. */
export const logoutChores = ({ sql }: { sql: Sql }): readonly Chore[] => [
  { name: "dead sign-outs", batch: async (most) => (await forgetDeadLogouts(sql, most)).count },
];

const forgetDeadLogouts = (sql: Sql, most: number) => sql`
  delete from logout_messages where message_id in (
    select message_id from logout_messages where dead < now() - make_interval(days => ${deadDays})
    order by dead limit ${most} for update skip locked)`;
