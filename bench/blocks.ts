import { type Row, row } from "../packages/gateway/bench/report.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { numberAll } from "../src/events/numbering.ts";
import { startPostgres } from "../test/faults/postgres.ts";
import installPostgres, { servedVersions } from "../test/faults/postgres_versions.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { clientOf } from "../test/rest_client.ts";
import { counting, openScales } from "../test/weight/blocks.ts";
import { type Weighed, weighEverything, weighedSettings } from "../test/weight/everything.ts";
import { growthOf } from "../test/weight/growth.ts";
import { filling, skewOf } from "../test/weight/skewed.ts";
import { bare, loading } from "./bulk.ts";
import { type Databases, databasesOf, makeFolder } from "./server.ts";
import { startSystem } from "./system_under_test.ts";

// The oldest version that is served, and the one that the service brings.
const versions = [15, 18];
// A page reads up to two thousand candidates, and the largest organization of ten thousand users has more.
const least = 10_000;

/** Weighs every operation, list and filter of the contract on instances of several sizes, on two versions of PostgreSQL. */
export async function blocks(sizes: readonly number[]): Promise<Row[]> {
  await installPostgres();
  const bins = servedVersions();
  const rows: Row[] = [];
  for (const version of versions) {
    const bin = bins.get(version);
    if (bin) rows.push(...(await blocksOn(version, bin, sizes)));
    else process.stdout.write(`PostgreSQL ${version} is not there and left out\n`);
  }
  return rows;
}

async function blocksOn(version: number, bin: string, sizes: readonly number[]): Promise<Row[]> {
  await using folder = await makeFolder();
  await using server = await startPostgres(bin, { ...counting, ...loading, max_connections: "100" });
  const databases = databasesOf(server.url, folder.path);
  const found = new Map<number, Weighed[]>();
  for (const users of sizes) found.set(users, await weighedAt(databases, users));
  return rowsOf(version, found);
}

async function weighedAt(databases: Databases, users: number): Promise<Weighed[]> {
  const name = `weighed_${users}`;
  // The first start finds no organization. A service that runs on would read all the events that come.
  await (await startSystem(databases, name))[Symbol.asyncDispose]();
  const began = performance.now();
  await bare(await databases.database(name), ([sql]) => sql.unsafe(filling(skewOf(users))));
  await using sql = openClient(await databases.database(name));
  await numberAll(sql.client);
  await sql.client.unsafe("vacuum analyze");
  process.stdout.write(`${users} users: filled in ${Math.round((performance.now() - began) / 1000)} s\n`);
  await using system = await startSystem(databases, name, { settings });
  await using scales = await openScales(system.databaseUrl);
  const { url } = system.server;
  return await weighEverything({ url, admin: clientOf(url, system.token) }, scales);
}

const settings = {
  DATABASE_CONNECTIONS: String(weighedSettings.databaseConnections),
  PUBLIC_URL: weighedSettings.publicUrl,
  // Blocks are counted, not seconds: what was just loaded is read from the disk.
  DATABASE_STATEMENT_TIMEOUT_MS: "120000",
};

/** A row for each operation: the blocks of its heaviest statement by whichever filters, at each size, and the milliseconds at the largest. */
function rowsOf(version: number, found: ReadonlyMap<number, readonly Weighed[]>): Row[] {
  const sizes = [...found.keys()];
  const [largest = []] = [...found.values()].slice(-1);
  const base = found.get(least);
  const growing = base ? growthOf(base, largest) : [];
  for (const { call, small, large, most } of growing)
    process.stdout.write(
      `PostgreSQL ${version}: ${call} reads ${large} blocks, ${small} of ten thousand users, at most ${most}\n`,
    );
  const operations = new Set(largest.map(({ operationId }) => operationId));
  return [...operations].map((operation) => {
    const calls = largest.flatMap(({ operationId }, at) => (operationId === operation ? [at] : []));
    const heaviestAt = (users: number) => heaviest(calls.flatMap((at) => found.get(users)?.[at]?.weights ?? []));
    const grown = growing.filter(({ call }) => call.startsWith(`${operation} `));
    return {
      ...row(operation, `PostgreSQL ${version}`, {
        ...Object.fromEntries(sizes.map((users) => [`${users} users`, heaviestAt(users)?.blocks])),
        ms: round(heaviestAt(sizes.at(-1) ?? 0)?.ms ?? 0),
        calls: calls.length,
        ...(base && { growing: grown.length }),
      }),
      goals: { growing: { most: 0 } },
    };
  });
}

const heaviest = (weights: Weighed["weights"]) => [...weights].sort((one, other) => other.blocks - one.blocks)[0];
