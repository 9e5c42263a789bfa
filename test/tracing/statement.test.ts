import { expect, test } from "vitest";
import { summaries } from "../../src/tracing/statement.ts";

test.each([
  ["select 1", "SELECT"],
  ["select a from users where user_id = $", "SELECT users"],
  [
    "with asked as materialized (\n  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer)\n)\nselect n from asked join users u on true left join passwords p on true",
    "SELECT users passwords",
  ],
  ["insert into a (b) values ($) on conflict (b) do update set c = a.c + 1", "INSERT a"],
  ["delete from bearers where hash in (select hash from bearers for update skip locked)", "DELETE bearers"],
  [
    'with facts as (\n  insert into events (a) select b from input returning a\n), "x/0" as (update users u set b = 1 from (select * from facts) f)\nselect 1',
    "INSERT events users",
  ],
  ["select from (select q.a from t q where b order by a for update of q) c", "SELECT t"],
])("%s is %s", (text, summary) => {
  const summaryOf = summaries();
  expect(summaryOf(text)).toEqual({ operation: summary.split(" ")[0], summary });
  expect(summaryOf(text)).toBe(summaryOf(text));
});
