import { type Row, row } from "../packages/gateway/bench/report.ts";
import { interleave, middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { endOfLog } from "../src/events/follow.ts";
import { numberAll } from "../src/events/numbering.ts";
import type { Position } from "../src/events/position.ts";
import { openClient } from "../test/fixture/database_client.ts";
import type { Recipe } from "../test/fixture/recipes.ts";
import { idOf, seed } from "../test/fixture/seed.ts";
import { blocks } from "./blocks.ts";
import { generate, type LoadOutcome } from "./load.ts";
import { fillingOf, loaded, warmFiles } from "./loaded.ts";
import { type Called, costOfNodes } from "./nodes.ts";
import { type Folder, makeFolder, servePostern, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";
import { outsiderOf } from "./users.ts";

const callers = 32;
const smallest = 1000;
const settle = 1;
const mostPerSecond = 8000;
const cases = [
  "AddUserGrant",
  "ListUserGrants, first page",
  "ListUserGrants, deep page",
  "GetUser",
  "permission check",
];

/** A service on a database of a size. */
type Side = {
  readonly name: string;
  readonly system: SystemUnderTest;
  readonly users: number;
  /** The first project for new grants: nobody has a grant in it or later ones yet. */
  readonly firstProject: number;
  /** The token of a user without permission here. */
  readonly outsider: string;
  /** The number of the next call. */
  next: number;
};

/** The amount of data, the folder that keeps it for the next run, and the only case to measure. */
export type Filled = { readonly users: number; readonly kept?: string | undefined; readonly only?: string | undefined };

/** The same, and the users of the instances whose statements are weighed. */
export type Scale = Filled & { readonly sizes: readonly number[] };

/** Compares the same calls on little and on much data, and on one node and on several; weighs statements. */
export async function scale(pace: Pace, { sizes, ...filled }: Scale): Promise<Row[]> {
  const { only } = filled;
  return [
    ...(only === "blocks" ? [] : await compare(pace, filled)),
    ...(only && only !== "blocks" ? [] : await blocks(sizes)),
  ];
}

async function compare(pace: Pace, { users, kept, only }: Filled): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  await loaded(folder.path, [fillingOf(smallest), fillingOf(users)]);
  return measured(folder, pace, { users, only });
}

async function measured({ path: folder }: Folder, pace: Pace, { users, only }: Filled): Promise<Row[]> {
  await using databases = await startDatabaseServer({ folder });
  await using small = await startSystem(databases, fillingOf(smallest).name);
  await using large = await startSystem(databases, fillingOf(users).name);
  const calls = (pace.rounds * (pace.seconds + settle) * 10 + 30) * mostPerSecond;
  const sides = [
    await sideOf("small", small, { users: smallest, calls }),
    await sideOf("large", large, { users, calls }),
  ];
  await warmFiles(folder);
  const rows: Row[] = [];
  const isMeant = (name: string) => !only || name === only;
  for (const name of cases.filter(isMeant)) rows.push(...(await compared(name, sides, pace)));
  for (const side of sides.slice(1)) if (isMeant("nodes")) rows.push(...(await nodes(side, pace)));
  if (isMeant("cost of nodes")) rows.push(...(await costOfNodes(large, calledOnNodes(sides[1], users), pace)));
  return rows;
}

type SideOptions = { readonly users: number; readonly calls: number };

/** Makes new projects for the grants of this run. */
async function sideOf(name: string, system: SystemUnderTest, { users, calls }: SideOptions): Promise<Side> {
  await using sql = openClient(system.databaseUrl);
  const [row] = await sql.client`select count(*)::int as count from projects where project_id like '000p%'`;
  const firstProject: number = row?.count ?? 0;
  const projects = Math.ceil(calls / users) + 1;
  await seed(sql.client, system.organizationId, { users: 0, projects, firstProject, grants: 0, changes: 0 });
  await sql.client.unsafe("vacuum analyze");
  await sql.client.unsafe("checkpoint");
  return { name, system, users, firstProject, outsider: await outsiderOf(system), next: firstProject * users };
}

async function compared(name: string, sides: readonly Side[], pace: Pace): Promise<Row[]> {
  const entrants = await Promise.all(sides.map(async (side) => ({ name: side.name, run: await runner(name, side) })));
  const found = await interleave(entrants, { ...pace, warmSeconds: warmOf(name) ?? pace.warmSeconds });
  const isRefused = name === "permission check";
  return [...found].map(([who, outcomes]) => ({
    ...row(name, who, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "x small": round(ratio(outcomes, found.get("small"), ({ rate }) => rate)),
      "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
      wrong: outcomes.reduce((sum, { calls, refused }) => sum + (isRefused ? calls - refused : refused), 0),
    }),
    goals: { ...(who === "large" && { "x small": { least: 0.9 } }), wrong: { most: 0 } },
  }));
}

// A checkpoint comes first, after which the first write of each page logs the whole page.
const warmOf = (name: string) => (name === "AddUserGrant" ? 20 : undefined);

async function runner(name: string, side: Side): Promise<(seconds: number) => Promise<LoadOutcome>> {
  const { url } = side.system.server;
  const recipe = await recipeOf(name, side);
  const token = name === "permission check" ? side.outsider : side.system.token;
  // After a long time every user has been read before.
  if (name === "GetUser")
    await generate({ ...shared, url, token, recipe, seconds: 600, callers: 128, from: 0, calls: side.users });
  return async (seconds) => {
    const outcome = await generate({ ...shared, url, token, recipe, seconds, callers, from: side.next });
    side.next = outcome.next;
    return outcome;
  };
}

const shared = { protocol: "grpc", settle } as const;

async function recipeOf(name: string, { system, users }: Side): Promise<Recipe> {
  switch (name) {
    case "AddUserGrant":
      return { kind: "add_user_grant", users };
    case "ListUserGrants, first page":
      return { kind: "list_user_grants", project: 0, pageToken: "" };
    case "ListUserGrants, deep page":
      return { kind: "list_user_grants", project: 0, pageToken: await deepToken(system) };
    default:
      return { kind: "get_user", users };
  }
}

const deep = 10_000;

/** The token of the page behind ten thousand grants, or of the last page there is. */
async function deepToken({ server, token }: SystemUnderTest): Promise<string> {
  const path = `/v1/projects/${idOf("project", 0)}/user-grants?pageSize=100&pageToken=`;
  let reached = "";
  for (let seen = 0; seen < deep; seen += 100) {
    const answer = await fetch(`${server.url}${path}${reached}`, { headers: { authorization: `Bearer ${token}` } });
    const { nextPageToken } = (await answer.json()) as { nextPageToken?: string };
    if (!nextPageToken) break;
    reached = nextPageToken;
  }
  return reached;
}

/** The calls whose cost is compared on several nodes; grants go to projects of this run. */
const calledOnNodes = (side: Side | undefined, users: number): Called[] => [
  { name: "GetMe", recipe: { kind: "get_me" }, next: 0 },
  { name: "Evaluate", recipe: { kind: "evaluate", users }, next: 0 },
  { name: "AddUserGrant", recipe: { kind: "add_user_grant", users }, next: side?.next ?? 0 },
];

/** Two nodes on one database, each with callers of its own, against one of them; every answered command is there once. */
async function nodes(side: Side, pace: Pace): Promise<Row[]> {
  const { system } = side;
  await using second = await servePostern({ env: system.env });
  await using sql = openClient(system.databaseUrl);
  await numberAll(sql.client);
  const since = await endOfLog(sql.client);
  const before = await grantsIn(sql.client, side, since);
  let granted = 0;
  const recipe = { kind: "add_user_grant", users: side.users } as const;
  const one = async (url: string, seconds: number) => {
    const from = side.next;
    side.next += (seconds + settle) * mostPerSecond;
    const outcome = await generate({ ...shared, url, token: system.token, recipe, seconds, callers, from });
    granted += outcome.granted;
    return outcome.rate;
  };
  const both = async (seconds: number) => {
    const rates = await Promise.all([one(system.server.url, seconds), one(second.url, seconds)]);
    return rates.reduce((sum, rate) => sum + rate);
  };
  const found = await interleave<number>(
    [
      { name: "one node", run: (seconds) => one(system.server.url, seconds) },
      { name: "two nodes", run: both },
    ],
    pace,
  );
  const after = await grantsIn(sql.client, side, since);
  const there = after.grants - before.grants;
  const figures = { lost: granted - there, doubled: after.events - there };
  return [...found].map(([who, rates]) => ({
    ...row("AddUserGrant on nodes", who, {
      "calls/s": Math.round(middle(rates, (rate) => rate)),
      "x one": round(ratio(rates, found.get("one node"), (rate) => rate)),
      ...(who === "two nodes" ? figures : {}),
    }),
    goals: who === "two nodes" ? { "x one": { least: 1 }, lost: { most: 0 }, doubled: { most: 0 } } : {},
  }));
}

/** Counts the grants in the projects of this run, and the events since a place in the log that added one. */
async function grantsIn(sql: ReturnType<typeof openClient>["client"], { firstProject }: Side, since: Position) {
  await numberAll(sql);
  const [row] = await sql<{ grants: number; events: number }[]>`
    select (select count(*)::int from user_grants where project_id >= ${idOf("project", firstProject)}) as grants,
      (select count(*)::int from event_numbers n join events e using (epoch, xid, position)
       where n.number > ${since.number} and e.type = 'user_grant.added') as events`;
  return row ?? { grants: 0, events: 0 };
}
