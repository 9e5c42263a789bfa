// Plans that are made while tables are small stay when they have grown.

import { expect, test } from "vitest";
import { denialRead } from "../../src/services/decisions/evaluate.ts";
import { openClient } from "../fixture/database_client.ts";
import type { Recipe } from "../fixture/recipes.ts";
import { seed } from "../fixture/seed.ts";
import { type Statement, statementsOf } from "../fixture/statements.ts";
import { startPostern } from "../harness.ts";
import { askedBy, callIn, planAsTheService, question } from "./plan.ts";

const few = 50;
const hot: readonly Recipe[] = [
  { kind: "add_user_grant", users: few },
  { kind: "change_phone", users: few },
  { kind: "create_application" },
  { kind: "get_me" },
];

test("the plans of the hot statements, made while the tables are small, read no table whole", async () => {
  await using small = await startPostern();
  const { databaseUrl: url, adminId: userId, organizationId } = small;
  await using sql = openClient(url);
  await seed(sql.client, organizationId, { users: few, projects: 2, grants: 20, changes: 0 });
  // As the service connects, and with the plans that stay.
  await planAsTheService(sql.client);
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
  await using small = await startPostern();
  const { databaseUrl: url, adminId: userId, organizationId } = small;
  await using sql = openClient(url);
  await seed(sql.client, organizationId, { users: few, projects: 2, grants: 0, changes: 0 });
  await planAsTheService(sql.client);
  const [write] = await statementsOf({ url, userId, organizationId }, { kind: "add_user_grant", users: few }, 30);
  const given = write?.parameters.map((one) => `$given$${one}$given$`).join();
  await sql.client.unsafe(`prepare hot as ${write?.text}`);
  const lines = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain execute hot (${given})`);
  expect(lines.map((line) => line["QUERY PLAN"]).join("\n")).toContain("user_grants_once");
});

test("a decision is found by user and project, and the role by the grant, also while the tables are small", async () => {
  await using small = await startPostern();
  const { databaseUrl: url, adminId: userId, organizationId } = small;
  await using sql = openClient(url);
  await seed(sql.client, organizationId, { users: few, projects: 2, grants: 20, changes: 0 });
  await planAsTheService(sql.client);
  const [read] = await askedBy(url, ({ sql: asking }) =>
    denialRead(asking)(question(3), callIn(organizationId, userId)),
  );
  await sql.client.unsafe(`prepare hot as ${read?.text}`);
  const lines = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain execute hot (${read?.parameters.join()})`);
  const plan = lines.map((line) => line["QUERY PLAN"]).join("\n");
  for (const index of ["user_grants_once", "user_grant_roles_pkey", "projects_project_id", "users_user_id"])
    expect(plan).toContain(index);
});
