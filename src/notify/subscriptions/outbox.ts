import type { Position } from "../../events/position.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import { outboxHealth } from "../health.ts";
import { type Turn, takeInTurns } from "../turns.ts";

/** A subscription with events to deliver, which a worker holds under a lease. */
export type LeasedSubscription = Position & {
  readonly id: string;
  readonly owner: string;
  /** The number of failed attempts since an event was accepted. */
  readonly attempts: number;
  /** Grows with each lease, so that records of an earlier holder are ignored. */
  readonly lease: bigint;
  readonly failingSince: Date | null;
  readonly url: string;
  readonly types: readonly string[];
  readonly instance: boolean;
  readonly paused: boolean;
  readonly sealed: Uint8Array;
  readonly previous: Uint8Array | null;
  readonly previousEnd: Date | null;
};

/** Leases subscriptions with events to deliver; no other worker takes them until the lease expires. */
export const takeSubscriptions = (sql: Sql, turn: Turn) =>
  takeInTurns<LeasedSubscription>(
    sql,
    { table: "subscriptions_to_deliver", key: "subscription_id", lease: lease(sql, turn) },
    turn,
  );

const lease = (sql: Sql, { leaseSeconds }: Turn) => sql`
  update subscription_deliveries d set lease = d.lease + 1, due = now() + make_interval(secs => ${leaseSeconds})
  from due join subscriptions s on s.subscription_id = due.id join subscription_secrets c on c.subscription_id = due.id
  where d.subscription_id = due.id
  returning d.subscription_id as id, d.owner, d.attempts, d.lease, d.number, d.batch, d.failing_since as "failingSince",
    s.url, s.types, s.instance, s.paused, c.sealed, c.previous, c.previous_end as "previousEnd"`;

/** The condition on the events of a subscription. */
export const wantedBy = (sql: Sql, { owner, types, instance }: LeasedSubscription): Fragment => sql`
  ${instance ? sql`true` : sql`owner = ${owner}`} ${types.length > 0 ? sql`and type = any(${[...types]})` : sql``}`;

type Held = Pick<LeasedSubscription, "id" | "lease">;

/** Records that every matching event up to the end of the log was accepted; if it has more by now, the subscription is due again. */
export const rest = (sql: Sql, { id, lease }: Held, { number, batch }: Position) => sql`
  select rest_subscription(${id}, ${lease}::bigint, ${number}::bigint, ${batch})`;

/** Records how far the receiver has accepted events; the rest is due at once. A position that a failover lost meanwhile is not kept. */
export const goOn = (sql: Sql, { id, lease }: Held, { number, batch }: Position) => sql`
  update subscription_deliveries set due = now(), attempts = 0, failure = null, failing_since = null, ${placed(sql, { number, batch })}
  where subscription_id = ${id} and lease = ${lease}::bigint and dead is null`;

type Failed = { readonly at: Position; readonly failure: string; readonly hasAccepted: boolean };

/** Records a failed attempt, and the position up to which the receiver has accepted events; the next attempt follows after a pause. */
export const postponeSubscription = (sql: Sql, held: Held, { seconds, ...failed }: Failed & { seconds: number }) => sql`
  update subscription_deliveries set due = now() + make_interval(secs => ${seconds}), ${failing(sql, failed)}
  where subscription_id = ${held.id} and lease = ${held.lease}::bigint and dead is null`;

/** Gives up on a subscription until somebody resumes it. */
export const burySubscription = (sql: Sql, held: Held, failed: Failed) => sql`
  update subscription_deliveries set due = 'infinity', dead = now(), ${failing(sql, failed)}
  where subscription_id = ${held.id} and lease = ${held.lease}::bigint and dead is null`;

/** Postpones a subscription whose host others are already waiting for. */
export const waitForHost = (sql: Sql, { id, lease }: Held, seconds: number) => sql`
  update subscription_deliveries set due = now() + make_interval(secs => ${seconds})
  where subscription_id = ${id} and lease = ${lease}::bigint and dead is null`;

const placed = (sql: Sql, { number, batch }: Position) => sql`
  number = case when is_position_held(${number}::bigint, ${batch}) then ${number}::bigint else number end,
  batch = case when is_position_held(${number}::bigint, ${batch}) then ${batch} else batch end`;

const failing = (sql: Sql, { at, failure, hasAccepted }: Failed) => sql`
  failure = ${failure}, attempts = ${hasAccepted ? sql`1` : sql`attempts + 1`},
  failing_since = ${hasAccepted ? sql`now()` : sql`coalesce(failing_since, now())`}, ${placed(sql, at)}`;

/** The subscriptions with events to deliver, the one that has failed for longest, and those that have died. */
export const subscriptionHealth = (sql: Sql) =>
  outboxHealth(sql, {
    table: "subscription_deliveries",
    waits: "dead is null and due < 'infinity'",
    since: "failing_since",
  });
