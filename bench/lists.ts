import { UserGrantState } from "../gen/postern/v1/user_grant_pb.ts";
import { UserKind, UserState } from "../gen/postern/v1/user_pb.ts";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import type { Recipe } from "../test/fixture/recipes.ts";
import { idOf, role } from "../test/fixture/seed.ts";
import { cpuSecondsOfChildren } from "./hostile/process.ts";
import { type Load, type LoadOutcome, together } from "./load.ts";
import { fillingOf, loaded } from "./loaded.ts";
import type { Filled } from "./scale.ts";
import { makeFolder, postmasterOf, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const smallest = 1000;
const user = idOf("user", 77);
const project = idOf("project", 0);

/** Lists by each filter of so many users; fifty of the smallest filling meet all but those of one user. */
const casesOf = (users: number): Readonly<Record<string, Recipe>> => ({
  "users, no filter": { kind: "list_users", filter: {} },
  "users by login name": { kind: "list_users", filter: { loginName: "LOAD77" } },
  "users by login name, its beginning": { kind: "list_users", filter: { loginNamePrefix: "LOAD" } },
  "users by name": { kind: "list_users", filter: { name: "ada byron" } },
  "users by name, its beginning": { kind: "list_users", filter: { namePrefix: "ADA" } },
  "users by e-mail": { kind: "list_users", filter: { email: "LOAD77@example.com" } },
  "users by e-mail, its beginning": { kind: "list_users", filter: { emailPrefix: "load" } },
  "users by phone": { kind: "list_users", filter: { phone: "+41 79 000 00 77" } },
  "users by phone, its beginning": { kind: "list_users", filter: { phonePrefix: "+4179" } },
  "users that are active": { kind: "list_users", filter: { state: UserState.ACTIVE } },
  "users that are inactive": { kind: "list_users", filter: { state: UserState.INACTIVE } },
  "users that are locked": { kind: "list_users", filter: { state: UserState.LOCKED } },
  "users that are human": { kind: "list_users", filter: { kind: UserKind.HUMAN } },
  "users that are machines": { kind: "list_users", filter: { kind: UserKind.MACHINE } },
  "users by a word of one": { kind: "list_users", filter: { search: `load${users - 1}` } },
  "users by a word of all": { kind: "list_users", filter: { search: "byr" } },
  "users by two words of all": { kind: "list_users", filter: { search: "ada byron" } },
  "grants, no filter": { kind: "list_grants", filter: {} },
  "grants of a user": { kind: "list_grants", filter: { userId: user } },
  "grants of a user in a project": { kind: "list_grants", filter: { userId: user, projectId: project } },
  "grants in a project": { kind: "list_grants", filter: { projectId: project } },
  "grants with a role": { kind: "list_grants", filter: { projectId: project, roleKey: role } },
  "grants that are active": { kind: "list_grants", filter: { state: UserGrantState.ACTIVE } },
  "grants that are inactive": { kind: "list_grants", filter: { state: UserGrantState.INACTIVE } },
});

/** Compares the lists on little and on much data, filter by filter; `only` is a regular expression of their names. */
export async function lists(pace: Pace, { users, kept, only = "" }: Filled): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  await loaded(folder.path, [fillingOf(smallest), fillingOf(users)]);
  await using databases = await startDatabaseServer({ folder: folder.path });
  await using small = await startSystem(databases, fillingOf(smallest).name);
  await using large = await startSystem(databases, fillingOf(users).name);
  const postmaster = await postmasterOf(small.databaseUrl);
  const few = casesOf(smallest);
  const rows: Row[] = [];
  for (const [name, recipe] of Object.entries(casesOf(users)).filter(([one]) => one.search(only) >= 0)) {
    const sides = {
      small: { system: small, recipe: few[name] ?? recipe, postmaster },
      large: { system: large, recipe, postmaster },
    };
    rows.push(...(await compared(name, sides, pace)));
  }
  return rows;
}

type Side = { readonly system: SystemUnderTest; readonly recipe: Recipe; readonly postmaster: number };
type Sides = Readonly<Record<"small" | "large", Side>>;

/** The outcome of a load, and the microseconds of CPU that the node and the database spent on each of its calls. */
type Spent = LoadOutcome & { readonly node: number; readonly database: number };

async function compared(name: string, sides: Sides, { rounds, seconds, warmSeconds }: Pace): Promise<Row[]> {
  await besideEachOther(sides, warmSeconds);
  const found = { small: [] as Spent[], large: [] as Spent[] };
  for (let at = 0; at < rounds; at++) {
    const { small, large } = await besideEachOther(sides, seconds);
    found.small.push(small);
    found.large.push(large);
  }
  return Object.entries(found).map(([who, outcomes]) => ({
    ...row(name, who, {
      "calls/CPU s": Math.round(middle(outcomes, perCpuSecond)),
      "x small": round(ratio(outcomes, found.small, perCpuSecond)),
      "node us": Math.round(middle(outcomes, ({ node }) => node)),
      "database us": Math.round(middle(outcomes, ({ database }) => database)),
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      wrong: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    }),
    goals: { ...(who === "large" && { "x small": { least: 0.9 } }), wrong: { most: 0 } },
  }));
}

const perCpuSecond = ({ node, database }: Spent) => 1e6 / (node + database);

const settle = 0.5;

/**
 * Loads both at once, with half of the callers each: other work on the machine, which makes the same call cost up to twice the CPU,
 * then weighs on both alike. Every call of a case reads the same pages, so the first ones leave them in memory.
 */
async function besideEachOther({ small, large }: Sides, seconds: number): Promise<Record<keyof Sides, Spent>> {
  const before = await Promise.all([small, large].map(cpuOf));
  const outcomes = await together([small, large].map(({ system, recipe }) => loadOf(system, recipe, seconds)));
  const after = await Promise.all([small, large].map(cpuOf));
  const spentAt = (at: number): Spent => {
    const outcome = outcomes[at] as LoadOutcome;
    const calls = outcome.granted + outcome.refused;
    const each = (field: "node" | "database") => ((after[at]?.[field] ?? 0) - (before[at]?.[field] ?? 0)) / calls;
    return { ...outcome, node: each("node"), database: each("database") };
  };
  return { small: spentAt(0), large: spentAt(1) };
}

const loadOf = ({ server: { url }, token }: SystemUnderTest, recipe: Recipe, seconds: number): Load => ({
  ...{ url, token, recipe, seconds, settle },
  ...{ protocol: "grpc", callers: 16, from: 0 },
});

async function cpuOf({ system: { server, databaseUrl }, postmaster }: Side) {
  const title = ` ${new URL(databaseUrl).pathname.slice(1)} `;
  const { cpu: node } = await server.usage();
  return { node, database: (await cpuSecondsOfChildren(postmaster, title)) * 1e6 };
}
