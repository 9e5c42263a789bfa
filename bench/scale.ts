import { open, serve, startGround } from "./ground.ts";
import { generate, type Outcome } from "./load/generator.ts";
import type { Recipe } from "./load/recipes.ts";
import { type Bed, makeBed } from "./operations.ts";
import { type Row, row } from "./report.ts";
import { interleave, middle, type Pace, ratio } from "./rounds.ts";
import { seed } from "./seed.ts";
import { round } from "./stats.ts";

const callers = 32;
const smallest = 1000;

/** The same calls on little and on much data, and on one node and on two. */
export async function scale(pace: Pace, users: number): Promise<Row[]> {
  await using ground = await startGround();
  await using small = await makeBed(ground, "small");
  await using large = await makeBed(ground, "large");
  await fill(small, smallest);
  await fill(large, users);
  const rows: Row[] = [];
  for (const name of ["AddUserGrant", "ListUserGrants, first page", "ListUserGrants, deep page", "GetUser", "GetMe"])
    rows.push(...(await compared({ name, small, large, pace, users })));
  rows.push(...(await nodes(large, pace, users)));
  return rows;
}

/** Five grants for each user, and one more event for four of five. */
async function fill({ databaseUrl, organizationId }: Bed, users: number): Promise<void> {
  await using sql = open(databaseUrl);
  const began = performance.now();
  // The projects beyond the fifth are for the grants to come.
  const projects = 5 + Math.ceil(1_000_000 / users);
  await seed(sql.client, organizationId, { users, projects, grants: users * 5, changes: users * 4 });
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(`${users} users and ${users * 5} grants loaded in ${seconds} s\n`);
}

type Comparison = {
  readonly name: string;
  readonly small: Bed;
  readonly large: Bed;
  readonly pace: Pace;
  readonly users: number;
};

async function compared({ name, small, large, pace, users }: Comparison): Promise<Row[]> {
  const one = async (bed: Bed, count: number) => runner({ bed, recipe: await recipeOf(name, bed, count), count });
  const entrants = [
    { name: "small", run: await one(small, smallest) },
    { name: "large", run: await one(large, users) },
  ];
  const found = await interleave(entrants, pace);
  return [...found].map(([who, outcomes]) =>
    row(name, who, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "x small": round(ratio(outcomes, found.get("small"), ({ rate }) => rate)),
      "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
      refused: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    }),
  );
}

type Running = { readonly bed: Bed; readonly recipe: Recipe; readonly count: number; readonly url?: string };

/** The first five projects hold the grants that are there; new ones begin behind them. */
function runner({ bed, recipe, count, url = bed.server.url }: Running): (seconds: number) => Promise<Outcome> {
  return async (seconds) => {
    const from = used.get(bed) ?? count * 5;
    const load = { url, protocol: "grpc", callers, seconds, token: bed.token, recipe, from } as const;
    const outcome = await generate(load);
    used.set(bed, outcome.next);
    return outcome;
  };
}

const used = new WeakMap<Bed, number>();

async function recipeOf(name: string, bed: Bed, users: number): Promise<Recipe> {
  switch (name) {
    case "AddUserGrant":
      return { kind: "add_user_grant", users };
    case "GetUser":
      return { kind: "get_user", users };
    case "ListUserGrants, first page":
      return { kind: "list_user_grants", project: 0, pageToken: "" };
    case "ListUserGrants, deep page":
      return { kind: "list_user_grants", project: 0, pageToken: await deepToken(bed) };
    default:
      return { kind: "get_me" };
  }
}

/** The token of the last page that ten pages of a thousand lead to, or of the last there is. */
async function deepToken({ server, token }: Bed): Promise<string> {
  const path = "/v1/projects/000p00000000000000000000/user-grants?pageSize=400&pageToken=";
  let deep = "";
  for (let page = 0; page < 25; page++) {
    const answer = await fetch(`${server.url}${path}${deep}`, { headers: { authorization: `Bearer ${token}` } });
    const { nextPageToken } = (await answer.json()) as { nextPageToken?: string };
    if (!nextPageToken) break;
    deep = nextPageToken;
  }
  return deep;
}

/** Two nodes on one database against one of them; every answered command is there once. */
async function nodes(bed: Bed, pace: Pace, users: number): Promise<Row[]> {
  await using second = await serve("postern", { env: bed.env });
  await using sql = open(bed.databaseUrl);
  const recipe = { kind: "add_user_grant", users } as const;
  const before = await grantsIn(sql.client);
  let answered = 0;
  const counted = (outcome: Outcome) => {
    answered += outcome.calls - outcome.refused;
    return outcome.rate;
  };
  const one = runner({ bed, recipe, count: users });
  const both = async (seconds: number) => {
    const from = used.get(bed) ?? users * 5;
    const shared = { protocol: "grpc", callers: callers / 2, seconds, token: bed.token, recipe } as const;
    const there = from + 100_000;
    const all = [
      generate({ ...shared, url: bed.server.url, from }),
      generate({ ...shared, url: second.url, from: there }),
    ];
    const [first, other] = await Promise.all(all);
    used.set(bed, Math.max(first?.next ?? 0, other?.next ?? 0));
    return (first ? counted(first) : 0) + (other ? counted(other) : 0);
  };
  const found = await interleave<number>(
    [
      { name: "one node", run: async (seconds) => counted(await one(seconds)) },
      { name: "two nodes", run: both },
    ],
    pace,
  );
  const there = (await grantsIn(sql.client)) - before;
  return [...found].map(([who, rates]) =>
    row("AddUserGrant on nodes", who, {
      "calls/s": middle(rates, (rate) => rate),
      "x one": round(ratio(rates, found.get("one node"), (rate) => rate)),
      "answered and not there once": answered - there,
    }),
  );
}

async function grantsIn(sql: ReturnType<typeof open>["client"]): Promise<number> {
  const [row] = await sql`select count(*)::int as count from events where type = 'user_grant.added'`;
  return row?.count ?? 0;
}
