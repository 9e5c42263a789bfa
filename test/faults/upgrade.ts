import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { doctor } from "../../src/maintenance/doctor.ts";
import { newToken } from "../../src/security/token.ts";
import { type Node, nodeEnv, readyStatus, startNode } from "../first_start.ts";
import { clientOf } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { releaseOf, zeroOne } from "./earlier_release.ts";
import { fillInstance, fillLog } from "./filled_instance.ts";
import { startPostgres } from "./postgres.ts";
import { useNewFeatures } from "./upgrade_features.ts";
import { type Follower, followLog, type Told } from "./upgrade_follower.ts";
import { startTraffic } from "./upgrade_traffic.ts";

/** The release of before by its commit, and the programs of PostgreSQL. */
export type UpgradeOptions = {
  readonly commit: string;
  readonly bin: string;
  /** How many users the instance has, and how many events the log. */
  readonly users: number;
  readonly events: number;
  /** Of how many calls times are taken. */
  readonly calls: number;
};

/** The times of calls, in milliseconds, before the upgrade and from its beginning on. */
export type Upgraded = { readonly before: number; readonly since: number };

/**
 * Upgrades a filled database under traffic: a node of before goes on serving while a node of this release migrates, and then beside it.
 * Fails on any call that fails, and on any row that the log does not explain.
 */
export async function upgradeUnderTraffic({ commit, bin, users, events, calls }: UpgradeOptions): Promise<Upgraded> {
  await using opened = new AsyncDisposableStack();
  const { url: databaseUrl } = opened.use(await startPostgres(bin));
  const dataDir = await mkdtemp(join(tmpdir(), "postern-upgrade-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const token = newToken("pt");
  const options = { databaseUrl, dataDir, adminToken: token };
  const earlier = opened.use(await startNode({ ...options, root: await releaseOf(commit) }));
  await ready(earlier);
  const organizations = await fillInstance({ url: earlier.url, token, users });
  await fillLog(databaseUrl, events);
  await ask(databaseUrl, "vacuum analyze");
  const [filled] = await ask<{ last: string }>(databaseUrl, "select max(position)::text as last from events");
  const follower = await followLog({ url: earlier.url, token });
  opened.defer(() => follower.stop());

  const traffic = startTraffic({ url: earlier.url, token, organizations });
  await traffic.more(300);
  traffic.cut();
  await traffic.more(calls);
  const before = traffic.cut();
  const began = performance.now();
  const node = opened.use(await startNode(options));
  await ready(node);
  const seconds = Math.round((performance.now() - began) / 1000);
  const during = traffic.cut();
  const [unnumbered] = await ask<{ count: number }>(
    databaseUrl,
    `select count(*)::integer from (select position from events where position <= ${filled?.last}) e
     left join event_numbers n using (position) where n.number is null`,
  );
  expect(unnumbered?.count).toBe(0);
  traffic.urls.push(node.url);
  const features = { newer: node.url, older: earlier.url, token, dataDir };
  await Promise.all([traffic.more(calls), useNewFeatures(features)]);
  const after = traffic.cut();
  const kept = await traffic.stop();
  report(`${commit}, ${users} users, ${events} events, ${bin}: ready after ${seconds} s`, { before, during, after });
  expect(traffic.failures.slice(0, 10)).toEqual([]);
  await hasHeardAll({ databaseUrl, follower, after: filled?.last ?? "" });
  const admin = clientOf(node.url, token);
  const [first] = (await admin.get("/v1/events?instance=true&pageSize=1")).body.events;
  const refused = await clientOf(earlier.url, token).get(`/v1/events:watch?instance=true&after=${first.position}`);
  // It knows positions of its own only.
  if (commit === zeroOne) expect([refused.status, refused.body.details[0].reason]).toEqual([400, "POSITION_INVALID"]);
  for (const userId of kept) expect((await admin.get(`/v1/users/${userId}`)).status).toBe(200);
  const config = readConfig({ ...nodeEnv(options), LOG_LEVEL: "warn", DATABASE_STATEMENT_TIMEOUT_MS: "120000" });
  const { lines } = await doctor(config, { rebuild: true });
  expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
  return { before: p99(before), since: Math.max(p99(during), p99(after)) };
}

type Heard = { readonly databaseUrl: string; readonly follower: Follower; readonly after: string };

/** Waits until a follower at a node of before was told every later event, whichever node wrote it; each once, those of an object in order. */
async function hasHeardAll({ databaseUrl, follower: { told, ends }, after }: Heard): Promise<void> {
  const keyOf = ({ resourceOwner, objectId, sequence }: Told) => `${resourceOwner} ${objectId} ${sequence}`;
  const written = await ask<{ key: string }>(
    databaseUrl,
    `select owner || ' ' || stream || ' ' || version as key from events where position > ${after}`,
  );
  const missing = () => {
    const heard = new Set(told.map(keyOf));
    return written.filter(({ key }) => !heard.has(key)).map(({ key }) => key);
  };
  await expect.poll(missing, { timeout: 120_000 }).toEqual([]);
  expect(new Set(told.map(keyOf)).size).toBe(told.length);
  const latest = new Map<string, number>();
  for (const { objectId, sequence } of told) {
    expect(Number(sequence)).toBeGreaterThan(latest.get(objectId) ?? 0);
    latest.set(objectId, Number(sequence));
  }
  console.log(`  a follower at the node of before was told ${told.length} events, by ${ends() + 1} streams`);
}

async function ready({ url, output, exited }: Node): Promise<void> {
  let hasEnded = false;
  void exited.then(() => {
    hasEnded = true;
  });
  for (; (await readyStatus(url)) !== 200; await pause(50))
    if (hasEnded) throw new Error(`the node has ended: ${output().slice(-2000)}`);
}

type Times = ReadonlyMap<string, readonly number[]>;

const all = (times: Times): number[] => [...times.values()].flat();

const percentile = (times: readonly number[], part: number): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length * part)] ?? 0;

const p99 = (times: Times): number => percentile(all(times), 0.99);

function report(what: string, phases: Readonly<Record<string, Times>>): void {
  console.log(what);
  for (const [phase, times] of Object.entries(phases)) {
    const figures = (list: readonly number[]) =>
      [0.5, 0.99, 1].map((part) => Math.round(percentile(list, Math.min(part, 1 - 1e-9)))).join("/");
    const kinds = [...times].map(([kind, list]) => `${kind} ${figures(list)}`);
    console.log(`  ${phase}: ${all(times).length} calls, p50/p99/most ${figures(all(times))} ms; ${kinds.join(", ")}`);
  }
}
