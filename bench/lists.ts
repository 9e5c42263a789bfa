import { UserKind, UserState } from "../gen/postern/v1/user_pb.ts";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { interleave, middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import type { Recipe } from "../test/fixture/recipes.ts";
import { idOf, role } from "../test/fixture/seed.ts";
import { generate, type LoadOutcome } from "./load.ts";
import { fillingOf, loaded, warmFiles } from "./loaded.ts";
import type { Scale } from "./scale.ts";
import { makeFolder, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const smallest = 1000;

/** Lists by each filter of so many users; fifty of the smallest filling meet all but the exact ones and the rare. */
const casesOf = (users: number): Readonly<Record<string, Recipe>> => ({
  "users, no filter": { kind: "list_users", filter: {} },
  "users by login name": { kind: "list_users", filter: { loginName: "LOAD77" } },
  "users by login name, its beginning": { kind: "list_users", filter: { loginNamePrefix: "LOAD" } },
  "users by name": { kind: "list_users", filter: { name: "ada byron" } },
  "users by name, its beginning": { kind: "list_users", filter: { namePrefix: "ADA" } },
  "users by e-mail": { kind: "list_users", filter: { email: "LOAD77@example.com" } },
  "users by e-mail, its beginning": { kind: "list_users", filter: { emailPrefix: "load" } },
  "users by phone, its beginning": { kind: "list_users", filter: { phonePrefix: "+4179" } },
  "users that are active": { kind: "list_users", filter: { state: UserState.ACTIVE } },
  "users that are inactive": { kind: "list_users", filter: { state: UserState.INACTIVE } },
  "users that are locked": { kind: "list_users", filter: { state: UserState.LOCKED } },
  "users that are human": { kind: "list_users", filter: { kind: UserKind.HUMAN } },
  "users that are machines": { kind: "list_users", filter: { kind: UserKind.MACHINE } },
  "users by a word of one": { kind: "list_users", filter: { search: `load${users - 1}` } },
  "users by a word of all": { kind: "list_users", filter: { search: "byr" } },
  "users by two words of all": { kind: "list_users", filter: { search: "ada byron" } },
  "grants of a user": { kind: "list_grants", filter: { userId: idOf("user", 77) } },
  "grants of a user in a project": {
    kind: "list_grants",
    filter: { userId: idOf("user", 77), projectId: idOf("project", 0) },
  },
  "grants in a project": { kind: "list_grants", filter: { projectId: idOf("project", 0) } },
  "grants with a role": { kind: "list_grants", filter: { projectId: idOf("project", 0), roleKey: role } },
});

/** Compares the lists on little and on much data, filter by filter. */
export async function lists(pace: Pace, { users, kept, only }: Scale): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  await loaded(folder.path, [fillingOf(smallest), fillingOf(users)]);
  await using databases = await startDatabaseServer({ folder: folder.path });
  await using small = await startSystem(databases, fillingOf(smallest).name);
  await using large = await startSystem(databases, fillingOf(users).name);
  await warmFiles(folder.path);
  const few = casesOf(smallest);
  const rows: Row[] = [];
  for (const [name, recipe] of Object.entries(casesOf(users)))
    if (!only || only === name)
      rows.push(...(await compared(name, { small: [small, few[name] ?? recipe], large: [large, recipe] }, pace)));
  return rows;
}

type Compared = Readonly<Record<"small" | "large", readonly [system: SystemUnderTest, recipe: Recipe]>>;

async function compared(name: string, sides: Compared, pace: Pace): Promise<Row[]> {
  const entrants = Object.entries(sides).map(([side, [system, recipe]]) => ({
    name: side,
    run: (seconds: number) => load(system, recipe, seconds),
  }));
  const found = await interleave(entrants, pace);
  return [...found].map(([side, outcomes]) => ({
    ...row(name, side, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "x small": round(ratio(outcomes, found.get("small"), ({ rate }) => rate)),
      "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
      wrong: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    }),
    goals: { ...(side === "large" && { "x small": { least: 0.9 } }), wrong: { most: 0 } },
  }));
}

const load = ({ server, token }: SystemUnderTest, recipe: Recipe, seconds: number): Promise<LoadOutcome> =>
  generate({ url: server.url, token, recipe, seconds, protocol: "grpc", settle: 1, callers: 32, from: 0 });
