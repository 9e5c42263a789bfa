import { provide, whyOf } from "../packages/gateway/bench/load/tools.ts";
import { type Goal, type Row, row } from "../packages/gateway/bench/report.ts";
import { type Entrant, interleave, middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { phoneOf, type Recipe, scattered, scatteredSql } from "../test/fixture/recipes.ts";
import { idOf, idSql, seed } from "../test/fixture/seed.ts";
import { markOf, statementsOf } from "../test/fixture/statements.ts";
import { generate, type LoadOutcome } from "./load.ts";
import { pgbench, type Slot } from "./pgbench.ts";
import { startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const callers = [1, 32, 128];
const most = Math.max(...callers);
const hot = 64;
const settle = 1;
// Enough users that every caller has its own.
const users = 100 * most;

type Case = {
  readonly name: string;
  readonly recipe: Recipe;
  readonly slots: readonly Slot[];
  readonly gets: boolean;
};

/** Compares the operations end to end with pgbench, which runs the same statements on the same server. */
export async function operations(pace: Pace, only?: string): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  await using system = await startSystem(databases, "operations");
  await using sql = openClient(system.databaseUrl);
  await seed(sql.client, system.organizationId, { users, projects: 200, grants: 0, changes: 0 });
  const peer = await provide("pgbench");
  if (!peer) process.stdout.write("the column of pgbench is left out\n");
  const rows: Row[] = [];
  for (const one of casesOf(system).filter(({ name }) => !only || name === only))
    rows.push(...(await measured({ system, one, pace, peer })));
  return rows;
}

type CaseOnSystem = {
  readonly system: SystemUnderTest;
  readonly one: Case;
  readonly pace: Pace;
  readonly peer: boolean;
};

/** Measures one operation with few and with many callers; a failure is noted in its row, and the others go on. */
async function measured(measuring: CaseOnSystem): Promise<Row[]> {
  const { one, pace } = measuring;
  const rows: Row[] = [];
  try {
    const entrants = await entrantsFor(measuring);
    // Cold code runs many times slower: the lone caller comes last, after many others.
    for (const { run } of entrants(hot)) await run(pace.warmSeconds + pace.seconds);
    for (const count of callers) {
      const subject = `${one.name} · ${count}`;
      const found = await interleave(entrants(count), pace);
      rows.push(...rowsOf(subject, found).map((line) => ({ ...line, goals: goalsOf(line, one, count) })));
    }
  } catch (error) {
    rows.push({ ...row(one.name, "", {}), note: `failed: ${whyOf(error)}` });
  }
  return rows;
}

async function entrantsFor({ system, one, peer }: CaseOnSystem): Promise<(count: number) => Entrant<LoadOutcome>[]> {
  const { databaseUrl: url, server, token } = system;
  const { recipe, slots, gets } = one;
  const statements = await statementsOf({ url, ...system }, recipe, template);
  // No two calls have the same number, whichever side sends them.
  let from = users;
  const counted = async (running: Promise<LoadOutcome>) => {
    const outcome = await running;
    from = Math.ceil(outcome.next / most) * most;
    return outcome;
  };
  return (count) => {
    const shared = { callers: count, settle };
    const ours = (protocol: "grpc" | "json") => (seconds: number) =>
      counted(generate({ ...shared, url: server.url, protocol, seconds, token, recipe, from }));
    const theirs = (seconds: number) => counted(pgbench({ ...shared, url, statements, slots, gets, seconds, from }));
    return [
      { name: "grpc", run: ours("grpc") },
      { name: "json", run: ours("json") },
      ...(peer ? [{ name: "pgbench", run: theirs }] : []),
    ];
  };
}

function rowsOf(subject: string, found: ReadonlyMap<string, readonly LoadOutcome[]>): Row[] {
  const peers = found.get("pgbench");
  return [...found].map(([name, outcomes]) =>
    row(subject, name, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "x pgbench": peers ? round(ratio(outcomes, peers, ({ rate }) => rate)) : undefined,
      "p50 ms": round(middle(outcomes, ({ p50 }) => p50)),
      "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
      "p99 to p50": round(middle(outcomes, ({ p50, p99 }) => p99 / p50)),
      refused: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    }),
  );
}

function goalsOf({ who }: Row, { name }: Case, count: number): Readonly<Record<string, Goal>> {
  if (who === "pgbench") return {};
  const least = name === "AddUserGrant" ? leastOf.get(count) : undefined;
  return { ...(least && { "x pgbench": { least } }), "p99 to p50": { most: 4 }, refused: { most: 0 } };
}

const leastOf: ReadonlyMap<number, number> = new Map([
  [32, 0.9],
  [128, 1.2],
]);

const template = 1;

function casesOf({ userId }: SystemUnderTest): Case[] {
  const some = { text: idOf("user", scattered(template, users)), sql: idSql("user", scatteredSql(":n", users)) };
  // Nobody else changes the phone of a user that a client of pgbench is about to change.
  const own = { text: idOf("user", template), sql: idSql("user", `:n % ${users}`) };
  const project = { text: idOf("project", 0), sql: idSql("project", `:n / ${users}`) };
  const phone = { text: phoneOf(template), sql: "'+49151' || (20000000 + :n)" };
  const version = { text: '"version": "2"', sql: `'"version": "' || (:read_version::bigint + 1) || '"'` };
  const name = { text: `Application ${template}`, sql: "'Application ' || :n" };
  return [
    caseOf("AddUserGrant", { kind: "add_user_grant", users }, [some, project]),
    { ...caseOf("ChangePhone", { kind: "change_phone", users }, [own, phone, version]), gets: true },
    caseOf("CreateOidcApplication", { kind: "create_application" }, [name]),
    caseOf("GetMe", { kind: "get_me" }, [{ text: userId, sql: `'${userId}'` }]),
  ];
}

/** Tells pgbench how to make the identifiers of a call from its number. */
function caseOf(name: string, recipe: Recipe, slots: readonly Slot[]): Case {
  const made = [0, 1, 2].map((at) => ({
    text: markOf(recipe, at),
    sql: `'06h${at}${recipe.kind.slice(0, 3)}' || lpad((:n)::text, 17, '0')`,
  }));
  return { name, recipe, slots: [...slots, ...made], gets: false };
}
