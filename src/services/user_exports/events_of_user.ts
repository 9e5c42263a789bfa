import { batchOf, eventColumns } from "../../events/follow.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { numbered, type Unnumbered } from "../audit/event.ts";
import type { PagePart } from "../reading/page.ts";

/** The next events about a user, or caused by the user, oldest first; each with the keys of its place, after which the next page begins. */
export async function userEvents(sql: Sql, asked: PagePart & { readonly userId: string; readonly isActor: boolean }) {
  const { userId, isActor, after, limit } = asked;
  const [seconds = "", position = ""] = after ?? [];
  const place = sql`(to_timestamp(${seconds}::text::float8), ${position}::text::bigint)`;
  const rows = await sql<(Unnumbered & { readonly seconds: string })[]>`
    select ${eventColumns(sql)}, numbered.number, ${batchOf(sql)} as batch, extract(epoch from time)::text as seconds
    from (
      select * from events where ${isActor ? sql`actor` : sql`about_user_id`} = ${userId}
        and ${after ? sql`(time, events.position) > ${place}` : sql`true`}
      order by time, events.position limit ${limit}
    ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
    order by time, events.position`;
  const all = await numbered(sql, rows);
  return all.map((row) => ({ row, keys: [row.seconds, String(row.position)] as const }));
}

/** Whether these are the keys of a place among a user's events. */
export const arePlace = ([seconds = "", position = ""]: readonly string[]): boolean =>
  /^\d{1,12}\.\d{1,6}$/.test(seconds) && /^\d{1,18}$/.test(position);
