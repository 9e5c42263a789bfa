import { expect, test } from "vitest";
import type { Sql } from "../../../src/postgres/pool/connect.ts";
import { openClient } from "../../fixture/database_client.ts";
import { planAsTheService } from "../../plans/plan.ts";
import type { PlanServer } from "../plan_server.ts";

const append = (sql: Sql, count: number) =>
  sql.unsafe(`
    insert into events (owner, stream, version, type, payload, request_id, time)
    select 'o', gen_random_uuid(), 1, 'project.created', '{}', 'r', now() from generate_series(1, ${count}) n`);

async function blocksOf(sql: Sql, statement: string): Promise<number> {
  const [row] = await sql.unsafe<{ "QUERY PLAN": [{ Plan: Readonly<Record<string, number>> }] }[]>(
    `explain (analyze, buffers, format json) ${statement}`,
  );
  const { "Shared Hit Blocks": hit = 0, "Shared Read Blocks": read = 0 } = row?.["QUERY PLAN"][0].Plan ?? {};
  return hit + read;
}

/** Declares the test on a server. */
export function numberingPlans(server: () => PlanServer): void {
  test("by plans of a young log, events are numbered, and a subscription comes to rest, for what is new alone", async () => {
    const { url } = await server().fresh();
    await using database = openClient(url);
    const sql = database.client;
    await planAsTheService(sql);
    await sql.unsafe(`
      insert into subscriptions (owner, subscription_id, url, types, instance, version, created, changed)
      values ('o', 's', 'https://receiver.example', '{}', false, 1, now(), now());
      insert into subscription_deliveries (subscription_id, owner, number, batch, due) values ('s', 'o', 0, '', now())`);
    const rest = `select rest_subscription('s', 0, (select last from event_batches order by first desc limit 1),
      (select id from event_batches order by first desc limit 1))`;
    // A batch for each, as calls make them one after another.
    const grow = async (times: number) => {
      for (let n = 0; n < times; n += 1) {
        await append(sql, 1);
        await sql.unsafe("select number_events(true)");
        await sql.unsafe(rest);
      }
    };
    const weigh = async () => [await blocksOf(sql, "select number_events(true)"), await blocksOf(sql, rest)];
    await grow(10);
    const young = await weigh();
    await append(sql, 20_000);
    for (let n = 0; n < 6; n += 1) await sql.unsafe("select number_events(true)");
    await grow(100);
    const grown = await weigh();
    for (const [at, blocks] of grown.entries()) expect(blocks).toBeLessThanOrEqual((young[at] ?? 0) + 40);
  }, 120_000);
}
