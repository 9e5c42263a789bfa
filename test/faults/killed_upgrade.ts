import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { doctor } from "../../src/maintenance/doctor.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { newToken } from "../../src/security/token.ts";
import { type Node, type NodeOptions, nodeEnv, readyStatus, startNode } from "../first_start.ts";
import { openClient } from "../fixture/database_client.ts";
import { schemaOf } from "../fixture/database_schema.ts";
import { inHistory } from "../fixture/history.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { releaseOf, zeroOne } from "./earlier_release.ts";
import { fillInstance } from "./filled_instance.ts";
import { startPostgres } from "./postgres.ts";
import { servedVersions } from "./postgres_versions.ts";

const bin = servedVersions().get(18);

/** Whether an upgrade can be tried here. */
export const canUpgrade = inHistory(zeroOne) && bin !== undefined;

/**
 * Upgrades two copies of a database of 0.1.0, one by a node that is killed again and again, `every` steps at most apart, and compares what
 * they are then.
 */
export async function upgradeKilled({ every }: { readonly every: number }): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const { url: databaseUrl } = opened.use(await startPostgres(bin ?? ""));
  const dataDir = await mkdtemp(join(tmpdir(), "postern-killed-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const options = { databaseUrl, dataDir, adminToken: newToken("pt") };
  await fill(options);
  const undisturbed = Object.assign(new URL(databaseUrl), { pathname: "/undisturbed" }).href;
  const elsewhere = Object.assign(new URL(databaseUrl), { pathname: "/postgres" }).href;
  await ask(elsewhere, "create database undisturbed template postern");

  await using plain = await startNode({ ...options, databaseUrl: undisturbed });
  await untilReady(plain);
  plain.signal("SIGTERM");
  await plain.exited;
  const killed = await killedUntilReady(options, every);
  console.log(`an upgrade was killed ${killed} times`);
  expect(killed).toBeGreaterThan(5);

  expect(await schemaOf(databaseUrl)).toEqual(await schemaOf(undisturbed));
  expect(await contentsOf(databaseUrl)).toEqual(await contentsOf(undisturbed));
  const { lines } = await doctor(readConfig({ ...nodeEnv(options), LOG_LEVEL: "warn" }), { rebuild: true });
  expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
}

async function fill(options: NodeOptions): Promise<void> {
  await using earlier = await startNode({ ...options, root: await releaseOf(zeroOne) });
  await untilReady(earlier);
  await fillInstance({ url: earlier.url, token: options.adminToken ?? "", users: 2_000 });
  earlier.signal("SIGTERM");
  await earlier.exited;
}

/** Starts a node and kills it once it has got so many steps further, until one is ready; returns how many were killed. */
async function killedUntilReady(options: NodeOptions, every: number): Promise<number> {
  await using looking = openClient(options.databaseUrl);
  const progress = () => progressOf(looking.client);
  for (let killed = 0; ; killed++) {
    await using node = await startNode(options);
    let seen = await progress();
    for (let steps = 1 + Math.floor(Math.random() * every); steps > 0; await pause(5)) {
      if ((await readyStatus(node.url)) === 200) {
        node.signal("SIGTERM");
        await node.exited;
        return killed;
      }
      const now = await progress();
      if (now !== seen) steps -= 1;
      seen = now;
    }
    // Somewhere in the steps that follow.
    await pause((killed * 37) % 100);
    node.signal("SIGKILL");
    await node.exited;
  }
}

/** How far the migrations have got: what was applied, and the step and the key of the one under way. */
async function progressOf(sql: Sql): Promise<string> {
  const text = `select (select count(*) from migrations)::text as applied,
    coalesce((select string_agg(m::text, ' ') from migration_under_way m), '') as "underWay"`;
  const [row] = await sql.unsafe<{ applied: string; underWay: string }[]>(text).catch(() => []);
  return JSON.stringify(row);
}

async function untilReady(node: Node): Promise<void> {
  while ((await readyStatus(node.url)) !== 200) await pause(50);
}

// Nodes write these as they run. 0.1.0 has no signing keys, which are random.
const ofNodes = [
  ...["migrations", "migration_under_way", "leases", "event_batches", "event_numbers", "instance"],
  "signing_keys",
];

/** What nodes write in other tables as soon as they are ready, by table: the rows and columns to compare are the others. */
const comparedIn: Readonly<Record<string, { without?: string; rows?: string }>> = {
  applications: { without: "{compliance_version,compliance_problems}" },
  events: { rows: "type <> 'signing_key.added'" },
};

/** A digest of each table's rows. */
async function contentsOf(url: string): Promise<readonly (readonly [string, string])[]> {
  const tables = await ask<{ name: string }>(
    url,
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
  );
  const names = tables.map(({ name }) => name).filter((name) => !ofNodes.includes(name));
  return Promise.all(
    names.map(async (name) => {
      const { without = "{}", rows = "true" } = comparedIn[name] ?? {};
      const text = `select md5(coalesce(string_agg(r, ',' order by r), '')) as digest
        from (select (to_jsonb(t) - '${without}'::text[])::text as r from ${name} t where ${rows}) rows`;
      const [row] = await ask<{ digest: string }>(url, text);
      return [name, row?.digest ?? ""] as const;
    }),
  );
}
