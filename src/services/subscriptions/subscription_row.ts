import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { SubscriptionState } from "../../../gen/postern/v1/subscription_pb.ts";
import { details } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import { formatPosition, type Position } from "../../events/position.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { Page } from "../reading/page.ts";
import { history, insertOf, type RowOf, selected } from "../reading/row.ts";

/** A subscription's columns other than the id, from which its row, select list and insert derive. */
export const subscriptionRow = {
  owner: "text",
  url: "text",
  types: "text[]",
  instance: "boolean",
  paused: "boolean",
  ...history,
} as const;

export type SubscriptionRow = RowOf<typeof subscriptionRow> &
  Position & {
    readonly id: string;
    readonly due: Date | null;
    readonly attempts: number;
    readonly failure: string | null;
    readonly failingSince: Date | null;
    readonly isDead: boolean;
    readonly previousEnd: Date | null;
  };

// A subscription with nothing to deliver has had everything up to the end of the log.
const columns = `s.subscription_id as id, ${selected("s", Object.keys(subscriptionRow))},
  case when d.due = 'infinity' and d.dead is null and not s.paused then e.last else d.number end as number,
  case when d.due = 'infinity' and d.dead is null and not s.paused then e.id else d.batch end as batch,
  case when d.due < 'infinity' and d.dead is null then d.due end as due, d.attempts, d.failure,
  d.failing_since as "failingSince", d.dead is not null as "isDead", c.previous_end as "previousEnd"`;

/** Composes the insert of a subscription. */
export const subscriptionInserted = insertOf({ table: "subscriptions", id: "subscription_id" }, subscriptionRow);

const joined = `join subscription_deliveries d on d.subscription_id = s.subscription_id
  join subscription_secrets c on c.subscription_id = s.subscription_id
  cross join (select last, id from event_batches order by first desc limit 1) e`;

export const subscriptionRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, SubscriptionRow>(sql, {
    asked: "owner text, id text",
    select: `select n, ${columns} from asked
             join subscriptions s on s.owner = asked.owner and s.subscription_id = asked.id ${joined}`,
  });

export const subscriptionsOf = (sql: Sql, owner: string, { after, limit }: Page) => sql<SubscriptionRow[]>`
  select ${sql.unsafe(columns)} from subscriptions s ${sql.unsafe(joined)}
  where s.owner = ${owner} and ${after ? sql`s.subscription_id < ${after[0] ?? ""}` : sql`true`}
  order by s.subscription_id desc limit ${limit}`;

export const mostSubscriptions = 100;

/** Reads whether an organization has the maximum number of subscriptions. */
export async function isFull(sql: Sql, owner: string): Promise<boolean> {
  const rows = await sql`select from subscriptions where owner = ${owner} offset ${mostSubscriptions - 1} limit 1`;
  return rows.length > 0;
}

export function subscription(row: SubscriptionRow, now: Date) {
  const { id, url, types, instance, attempts, failure, failingSince, due, previousEnd } = row;
  const state = stateOf(row);
  const isNext = state === SubscriptionState.FAILING && due !== null;
  return {
    id,
    details: details(row),
    url,
    types: [...types],
    instance,
    state,
    position: formatPosition(row),
    failedAttempts: attempts,
    ...(failure === null ? {} : { failure }),
    ...(failingSince === null ? {} : { failingSince: timestampFromDate(failingSince) }),
    ...(isNext ? { nextAttemptDate: timestampFromDate(due) } : {}),
    ...(previousEnd && previousEnd > now ? { previousSecretExpirationDate: timestampFromDate(previousEnd) } : {}),
  };
}

function stateOf({ paused, isDead, failure }: SubscriptionRow): SubscriptionState {
  if (paused) return SubscriptionState.PAUSED;
  if (isDead) return SubscriptionState.DEAD;
  return failure === null ? SubscriptionState.ACTIVE : SubscriptionState.FAILING;
}
