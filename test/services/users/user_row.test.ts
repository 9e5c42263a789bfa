import { expect, test } from "vitest";
import { columnOf } from "../../../src/services/reading/row.ts";
import { userRow } from "../../../src/services/users/user_row.ts";
import { freshDatabase } from "../../database.ts";
import { openProbe } from "../../probe.ts";

test("the row of a user has the columns of its table, with their types, and null where the table allows it", async () => {
  await using database = await freshDatabase();
  await using probe = openProbe(database.url);
  const columns = await probe.sql<{ name: string; type: string }[]>`
    select attname as name, atttypid::regtype::text || case when attnotnull then '' else '?' end as type
    from pg_attribute where attrelid = 'all_users'::regclass and attnum > 0 and not attisdropped`;
  const short = (type: string) => type.replace("timestamp with time zone", "timestamptz");
  const there = new Map(columns.map(({ name, type }) => [name, short(type)]));
  // A list by words reads them, and no response does; the view shows no row that is being deleted or waits for erasure.
  for (const name of ["user_id", "words", "deleted", "erasure_date"]) expect(there.delete(name)).toBe(true);
  expect(Object.fromEntries(there)).toEqual(
    Object.fromEntries(Object.entries(userRow).map(([name, type]) => [columnOf(name), type])),
  );
});
