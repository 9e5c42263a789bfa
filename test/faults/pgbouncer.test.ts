import { describe, expect, test } from "vitest";
import { doctor } from "../../src/maintenance/doctor.ts";
import { freshDatabase } from "../database.ts";
import { client } from "../first_start.ts";
import { machine, type Postern, startPostern } from "../harness.ts";
import { ask, until } from "../postgres/embedded/holder.ts";
import { startLoad } from "./load.ts";
import { type Bouncer, startPgbouncer } from "./pgbouncer.ts";
import { found } from "./programs.ts";

const ignored =
  "extra_float_digits,statement_timeout,enable_seqscan,enable_hashjoin,enable_mergejoin,enable_bitmapscan,jit,plan_cache_mode";

const ways: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "as it comes": {},
  "that ignores settings": { ignore_startup_parameters: ignored },
};

type Stage = AsyncDisposable & { readonly direct: string; readonly bouncer: Bouncer; readonly postern: Postern };

async function openStage(settings: Readonly<Record<string, string>>, statementTimeoutMs = 10_000): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const direct = opened.use(await freshDatabase()).url;
  const bouncer = opened.use(await startPgbouncer(direct, settings));
  const config = { databaseUrl: bouncer.url, databaseConnections: 16, databaseStatementTimeoutMs: statementTimeoutMs };
  const postern = opened.use(await startPostern(config));
  const stack = opened.move();
  return { direct, bouncer, postern, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe.skipIf(!found("pgbouncer")).each(Object.entries(ways))("PgBouncer in transaction mode, %s", (_, settings) => {
  test("serves writes over REST and gRPC, each once, and no statement stays prepared on its servers", async () => {
    await using stage = await openStage({ ...settings, default_pool_size: "1" });
    const { postern, bouncer, direct } = stage;
    const userIds = (await Promise.all(Array.from({ length: 8 }, () => machine(postern)))).map(({ userId }) => userId);
    const load = startLoad({ url: postern.url, token: postern.admin.token ?? "", userIds });
    await load.more(400);
    await load.stop();
    expect(load.failures).toEqual([]);
    const sql = client(direct);
    const rows = await sql<{ id: string }[]>`select token_id as id from access_tokens where user_id = any(${userIds})`;
    await sql.end();
    const made = new Set(rows.map(({ id }) => id));
    expect(load.acknowledged.filter((id) => !made.has(id))).toEqual([]);
    expect(made.size).toBe(load.acknowledged.length + userIds.length);
    // The only server connection answers; the question of the start may have stayed.
    const [kept] = await ask<{ count: number }>(
      bouncer.url,
      "select count(*)::int as count from pg_prepared_statements",
    );
    expect(kept?.count).toBeLessThan(5);
  });

  test("a statement that runs too long is ended on the server, and the next ones run", async () => {
    await using stage = await openStage(settings, 3_000);
    const { postern, direct } = stage;
    const waiting = async () => {
      const [row] = await ask<{ count: number }>(
        direct,
        "select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return row?.count;
    };
    const list = () => postern.admin.get(`/v1/users/${postern.adminId}/grants`).then(({ status }) => status);
    await using gate = await lock(direct, "user_grants");
    const calls = Promise.all(Array.from({ length: 8 }, list));
    await until(async () => ((await waiting()) ?? 0) > 0);
    expect(new Set(await calls)).toEqual(new Set([504]));
    expect(await waiting()).toBe(0);
    await gate.release();
    expect(await Promise.all(Array.from({ length: 40 }, list))).toEqual(Array(40).fill(200));
  });

  test("the doctor replays the log through it", async () => {
    await using stage = await openStage(settings);
    await machine(stage.postern);
    const { ok, lines } = await doctor(stage.postern.config, { rebuild: true });
    expect([ok, lines]).toEqual([true, expect.arrayContaining([expect.stringMatching(/^ok {4}tables: /)])]);
  });
});

/** Keeps everybody else from a table. */
async function lock(url: string, table: string): Promise<AsyncDisposable & { release: () => Promise<unknown> }> {
  const sql = client(url);
  await sql.unsafe(`begin; lock table ${table} in access exclusive mode`);
  return { release: () => sql.unsafe("commit"), [Symbol.asyncDispose]: () => sql.end() };
}
