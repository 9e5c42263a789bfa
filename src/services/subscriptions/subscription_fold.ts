import { type NounFolds, touch } from "../../events/fold.ts";
import { historyInFact, inFact } from "../reading/row.ts";
import { subscriptionInserted } from "./subscription_row.ts";

const row = (columns = "") => touch("subscriptions", "subscription_id", columns);

const typesOf = "array(select jsonb_array_elements_text(f.payload->'types'))";

const insertedRow = subscriptionInserted(["paused"], {
  ...inFact("url"),
  types: typesOf,
  instance: "(f.payload->>'instance')::boolean",
  ...historyInFact,
});

const endOfLog = "(select last, id from event_batches order by first desc limit 1) e";

const afresh = "due = now(), attempts = 0, failure = null, failing_since = null, dead = null";

// A subscription with nothing to deliver has an old position, and the events that it skipped do not concern it.
const toTheEnd = `
  number = case when d.due = 'infinity' and d.dead is null then e.last else d.number end,
  batch = case when d.due = 'infinity' and d.dead is null then e.id else d.batch end`;

/** The folds of facts about a subscription: its row, its secrets, and the position of its deliveries. */
export const subscriptionFolds = {
  created: {
    views: [
      `${insertedRow}
       from $facts f`,
    ],
    credentials: [
      `insert into subscription_secrets (subscription_id, sealed)
       select i.stream, decode(i.secret->>'sealed', 'hex') from $input i`,
      `insert into subscription_deliveries (subscription_id, owner, number, batch, due)
       select i.stream, i.owner, (i.secret->>'number')::bigint, i.secret->>'batch', now() from $input i`,
    ],
  },
  changed: {
    views: [row(`url = f.payload->>'url', types = ${typesOf}`)],
    credentials: [
      `update subscription_deliveries d set ${toTheEnd} from $input i, subscriptions s, ${endOfLog}
       where d.subscription_id = i.stream and s.subscription_id = i.stream and d.dead is null and not s.paused`,
    ],
  },
  paused: {
    views: [row("paused = true")],
    credentials: [
      `update subscription_deliveries d set due = 'infinity', ${toTheEnd} from $input i, ${endOfLog}
       where d.subscription_id = i.stream`,
    ],
  },
  resumed: {
    views: [row("paused = false")],
    credentials: [`update subscription_deliveries d set ${afresh} from $input i where d.subscription_id = i.stream`],
  },
  replayed: {
    views: [row("paused = false")],
    credentials: [
      `update subscription_deliveries d set ${afresh}, lease = d.lease + 1, number = (i.secret->>'number')::bigint,
         batch = i.secret->>'batch'
       from $input i where d.subscription_id = i.stream`,
    ],
  },
  secretRotated: {
    views: [row()],
    credentials: [
      `update subscription_secrets s set sealed = decode(i.secret->>'sealed', 'hex'),
         previous = case when end_of.time > now() then s.sealed end, previous_end = case when end_of.time > now() then end_of.time end
       from $input i cross join lateral (select (i.payload->>'previousSecretExpirationDate')::timestamptz as time) end_of
       where s.subscription_id = i.stream`,
    ],
  },
  deleted: {
    views: [`delete from subscriptions t using $facts f where t.owner = f.owner and t.subscription_id = f.stream`],
    credentials: [
      `delete from subscription_secrets t using $facts f where t.subscription_id = f.stream`,
      `delete from subscription_deliveries t using $facts f where t.subscription_id = f.stream`,
    ],
  },
} satisfies NounFolds<"subscription">;
