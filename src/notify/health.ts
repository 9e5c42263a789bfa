import type { Sql } from "../postgres/pool/connect.ts";

/** The number of waiting messages, the age of the oldest, and the number that were given up; both numbers up to `mostCounted`. */
export type OutboxHealth = { readonly waiting: number; readonly oldestSeconds: number; readonly dead: number };

/** At most this many are counted: every read of the metrics counts them. */
export const mostCounted = 10_000;

/** An outbox: its table, the condition of waiting messages, and the column with the time since which they wait. */
type Outbox = { readonly table: string; readonly waits?: string; readonly since?: string };

/** Reads the health of an outbox, whose indexes answer each part however many messages it has. */
export async function outboxHealth(sql: Sql, { table, waits = "dead is null", since = "created" }: Outbox) {
  const count = (where: string, order: string) =>
    `(select count(*)::int from (select from ${table} where ${where} order by ${order} limit ${mostCounted}) counted)`;
  const [health] = await sql.unsafe<OutboxHealth[]>(
    `select ${count(waits, "due")} as waiting, ${count("dead is not null", "dead")} as dead,
       greatest(0, extract(epoch from now() - (
         select ${since} from ${table} where ${waits} order by ${since} limit 1)))::float8 as "oldestSeconds"`,
    [],
    { prepare: true },
  );
  return health ?? { waiting: 0, oldestSeconds: 0, dead: 0 };
}
