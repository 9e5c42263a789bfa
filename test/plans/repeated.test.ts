// PostgreSQL puts a subquery in place of each of its columns that is read, unless an offset holds it together: a statement that reads
// twenty fields of a policy then plans and runs twenty subqueries.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
import { root } from "../rules/tree.ts";
import { planAsTheService } from "./plan.ts";

// A view names its tables itself; the one that is asked most often names one in six places.
const ofViews = 5;

test("no plan scans a table more often than its statement names it", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  await planAsTheService(sql.client);
  const statements = ["test/statements", "test/provider/statements"].flatMap(statementsIn);
  expect(statements.length).toBeGreaterThan(300);
  const repeated: string[] = [];
  for (const { file, text } of statements) {
    const [row] = await sql.client.unsafe<{ "QUERY PLAN": unknown }[]>(`explain (generic_plan, format json) ${text}`);
    const scans = Map.groupBy(tablesOf(row?.["QUERY PLAN"]), (table) => table);
    for (const [table, { length }] of scans)
      if (length > timesNamed(table, text) + ofViews)
        repeated.push(`${file}: ${table}, ${length} times: ${text.slice(0, 200)}`);
  }
  expect(repeated).toEqual([]);
});

function statementsIn(folder: string): { file: string; text: string }[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".sql"))
    .flatMap((file) => {
      const parts = readFileSync(join(root, folder, file), "utf8").split(/;\n\n|;\n$/);
      return parts
        .map((part) => part.replaceAll(/^-- .*\n+/gm, "").trim())
        .filter((text) => /^(with|select|insert|update|delete)\b/.test(text))
        .map((text) => ({ file, text }));
    });
}

/** The tables of all scans of a plan. */
function tablesOf(plan: unknown): string[] {
  if (Array.isArray(plan)) return plan.flatMap(tablesOf);
  if (typeof plan !== "object" || plan === null) return [];
  const { "Relation Name": table, ...rest } = plan as Record<string, unknown>;
  return [...(typeof table === "string" ? [table] : []), ...Object.values(rest).flatMap(tablesOf)];
}

/** A table of rows that may be deleted is named by its view, too. */
const timesNamed = (table: string, text: string) =>
  [...text.matchAll(new RegExp(`\\b(all_)?${table.replace(/^all_/, "")}\\b`, "g"))].length;
