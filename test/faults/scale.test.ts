import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { numberAll } from "../../src/events/numbering.ts";
import { services } from "../../src/runtime/modules.ts";
import { newToken } from "../../src/security/token.ts";
import { openClient } from "../fixture/database_client.ts";
import { startPostern } from "../harness.ts";
import { codeTo } from "../services/invitations/invited.ts";
import { counting, openScales } from "../weight/blocks.ts";
import { type Weighed, weighEverything, weighedSettings } from "../weight/everything.ts";
import { growthOf } from "../weight/growth.ts";
import { lists } from "../weight/lists.ts";
import { filling, skewOf } from "../weight/skewed.ts";
import { startPostgres } from "./postgres.ts";
import { servedVersions } from "./postgres_versions.ts";

// The largest organization of the smaller one has more users than a page has candidates.
// Most organizations have one project, for which a planner that knows no better reads all projects of an organization.
const sizes = [8_000, 40_000] as const;
const usersEach = 8;
const bin = servedVersions().get(15);

describe.skipIf(!bin)("PostgreSQL 15", () => {
  const opened = new AsyncDisposableStack();
  const weighed: Weighed[][] = [];

  beforeAll(async () => {
    const server = opened.use(await startPostgres(bin ?? "", { ...counting, max_wal_size: "4GB", autovacuum: "off" }));
    for (const users of sizes) weighed.push(await weighedAt(server.url, users));
  }, 1_800_000);
  afterAll(() => opened.disposeAsync());

  test("every operation is weighed, and each list by each filter", () => {
    const rpcs = services.flatMap(({ methods }) => methods.map(({ parent, name }) => `${parent.name}_${name}`));
    const [small = [], large = []] = weighed.map((calls) => calls.map(({ operationId }) => operationId));
    expect(large).toEqual(small);
    expect(rpcs.filter((rpc) => !small.includes(rpc))).toEqual([]);
    expect(small.length).toBeGreaterThan(rpcs.length + 5 * lists.length);
  });

  test("each reads five times as much data by as many blocks, but for the higher indexes", () => {
    const [small = [], large = []] = weighed;
    expect(growthOf(small, large)).toEqual([]);
  });
});

/** Fills a database of its own and weighs everything there. */
async function weighedAt(url: string, users: number): Promise<Weighed[]> {
  const name = `users_${users}`;
  await using server = openClient(url);
  await server.client.unsafe(`create database ${name}`);
  const databaseUrl = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  const settings = { databaseUrl, ...weighedSettings, adminToken: newToken("pt"), masterKeys: [randomBytes(32)] };
  // The first start finds no organization. A service that runs on would read all the events that come.
  await (await startPostern(settings))[Symbol.asyncDispose]();
  await using sql = openClient(databaseUrl);
  await sql.client.unsafe(filling({ ...skewOf(users), organizations: users / usersEach, events: 3 * users }));
  await numberAll(sql.client);
  await sql.client.unsafe("vacuum analyze");
  await using postern = await startPostern(settings);
  await using scales = await openScales(databaseUrl);
  // Of two filters at once no more is promised than the bound of candidates, which weight.test.ts has.
  return await weighEverything(
    postern,
    scales,
    (email, like) => codeTo(postern, email, { like }),
    ({ filters }) => filters.length < 2,
  );
}
