import { expect, test } from "vitest";
import { open } from "../bench/ground.ts";
import type { Recipe } from "../bench/load/recipes.ts";
import { seed } from "../bench/seed.ts";
import { type Statement, statementsOf } from "../bench/statements.ts";
import { startPostern } from "./harness.ts";

const users = 50;
const hot: readonly Recipe[] = [
  { kind: "add_user_grant", users },
  { kind: "change_phone", users },
  { kind: "create_application" },
  { kind: "get_me" },
];

test("the plans of the hot statements, made while the tables are small, read no table whole", async () => {
  await using postern = await startPostern();
  const { databaseUrl: url, adminId: userId, organizationId } = postern;
  await using sql = open(url);
  await seed(sql.client, organizationId, { users, projects: 2, grants: 20, changes: 0 });
  // As the service connects, and with the plans that stay.
  await sql.client.unsafe("set enable_seqscan = off; set plan_cache_mode = force_generic_plan");
  for (const recipe of hot) {
    const statements = await statementsOf({ url, userId, organizationId }, recipe, 30);
    expect(statements.length, recipe.kind).toBeGreaterThan(0);
    for (const statement of statements) expect(await scannedWhole(statement), statement.text).toEqual([]);
  }

  /** The tables that a statement reads whole; the instance is one row. */
  async function scannedWhole({ text, parameters }: Statement): Promise<string[]> {
    await sql.client.unsafe(`prepare hot as ${text}`);
    const given = parameters.map((one) => `$given$${one}$given$`).join(", ");
    const lines = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain execute hot (${given})`);
    await sql.client.unsafe("deallocate hot");
    const plan = lines.map((line) => line["QUERY PLAN"]).join("\n");
    return [...plan.matchAll(/Seq Scan on (\w+)/g)]
      .map(([, table = ""]) => table)
      .filter((table) => table !== "instance");
  }
});

test("whether a grant is there is found by user and project, also while no grant is", async () => {
  await using postern = await startPostern();
  const { databaseUrl: url, adminId: userId, organizationId } = postern;
  await using sql = open(url);
  await seed(sql.client, organizationId, { users, projects: 2, grants: 0, changes: 0 });
  await sql.client.unsafe("set enable_seqscan = off; set plan_cache_mode = force_generic_plan");
  const [read] = await statementsOf({ url, userId, organizationId }, { kind: "add_user_grant", users }, 30);
  const [asked = ""] = read?.parameters ?? [];
  await sql.client.unsafe(`prepare hot as ${read?.text}`);
  const lines = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain execute hot ($given$${asked}$given$)`);
  expect(lines.map((line) => line["QUERY PLAN"]).join("\n")).toContain("user_grants_once");
});
