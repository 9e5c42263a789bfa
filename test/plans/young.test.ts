import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
import { root } from "../rules/tree.ts";
import { planAsTheService } from "./plan.ts";

const folders = ["test/statements", "test/provider/statements"];

/** The statements that the service sends, as files show them. */
const statements = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((file) => file.endsWith(".sql"))
  .flatMap((file) => readFileSync(join(root, file), "utf8").split(/;\n/))
  .map((text) => text.replace(/^\s*--.*\n/gm, "").trim())
  .filter((text) => /^(with|select|insert|update|delete)\b/.test(text));

test("a plan that was made while the tables were empty hashes none of them, which would be read whole once they are full", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  await planAsTheService(sql.client);
  await sql.client.unsafe("vacuum analyze");
  const hashing: string[] = [];
  for (const text of new Set(statements)) {
    const rows = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain (generic_plan) ${text}`);
    if (rows.some((row) => row["QUERY PLAN"].includes("(hashed SubPlan"))) hashing.push(text);
  }
  expect(hashing).toEqual([]);
  expect(statements.length).toBeGreaterThan(100);
});

const appended = (owner: string, type: string, count: number) => `
  insert into events (owner, stream, version, type, payload, request_id, time)
  select ${owner}, gen_random_uuid(), 1, ${type}, '{}', 'request', now() from generate_series(1, ${count}) n`;

const subscribed = (organizations: number, each: number) => `
  with new as (
    insert into subscriptions (owner, subscription_id, url, types, instance, version, created, changed)
    select 'organization' || o, o || '-' || n, 'https://receiver.example', '{project.created}', false, 1, now(), now()
    from generate_series(1, ${organizations}) o, generate_series(1, ${each}) n on conflict do nothing returning owner, subscription_id)
  insert into subscription_deliveries (subscription_id, owner, number, batch, due)
  select subscription_id, owner, 0, '', 'infinity' from new`;

test("whoever numbers events looks up the subscriptions of their organizations only, and compares each of them once", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  await planAsTheService(client);
  const numbered = async () => {
    const [row] = await client.unsafe("explain (analyze, buffers, format json) select number_events(true)");
    return row?.["QUERY PLAN"][0].Plan;
  };
  // The plan of one subscription.
  await client.unsafe(subscribed(1, 1));
  await client.unsafe("vacuum analyze");
  await client.unsafe(appended("'nobody'", "'project.created'", 20_000));
  for (let n = 0; n < 4; n += 1) await client.unsafe("select number_events(true)");

  await client.unsafe(subscribed(400, 10));
  await client.unsafe(appended("'organization7'", "'project.created'", 1));
  expect((await numbered())["Shared Hit Blocks"]).toBeLessThan(500);
  expect(await client.unsafe("select from subscription_deliveries where due < 'infinity'")).toHaveLength(10);

  // What does not fit into memory is counted when it is read.
  await client.unsafe("set work_mem = '64kB'");
  await client.unsafe(appended("'organization' || n % 400", "'type' || n / 400", 4_000));
  expect((await numbered())["Temp Read Blocks"]).toBeLessThan(1_000);
});
