import { generate, type LoadOutcome } from "../../packages/gateway/bench/load/generator.ts";
import { whyOf } from "../../packages/gateway/bench/load/tools.ts";
import { type Row, row } from "../../packages/gateway/bench/report.ts";
import { type Entrant, interleave, middle, type Pace, ratio } from "../../packages/gateway/bench/rounds.ts";
import { round } from "../../packages/gateway/bench/stats.ts";
import { openClient } from "../../test/fixture/database_client.ts";
import { cpuSecondsOfFamily, parentOf } from "../hostile/process.ts";
import { type DatabaseServer, startDatabaseServer } from "../server.ts";
import { type Case, cases, goalOf, isChosen } from "./cases.ts";
import { startOpenfga } from "./openfga.ts";
import { startPostern } from "./postern.ts";
import { freePort } from "./program.ts";
import { firstGrant, type Question } from "./question.ts";
import type { Door, System } from "./system.ts";

const pool = 32;
const hot = 64;
const settle = 0.5;

/** A load, and the CPU of the server and of the database for one call, in milliseconds. */
type Outcome = LoadOutcome & { readonly serverMs: number; readonly databaseMs: number };

/** Compares the operations with the systems that people would pick instead, on one database server. */
export async function peers(pace: Pace, only?: string): Promise<Row[]> {
  await using databases = await startDatabaseServer({ port: await freePort() });
  await using opened = new AsyncDisposableStack();
  const systems: System[] = [opened.use(await startPostern(databases, pool))];
  const openfga = await startOpenfga(databases, pool);
  if (openfga) systems.push(opened.use(openfga));
  else process.stdout.write("OpenFGA is missing: its columns are left out; see bench/README.md\n");
  const comparison = { systems, pace, only, database: await processOf(databases), numbers: new Map() };
  const rows: Row[] = [];
  for (const one of cases) rows.push(...(await compared(one, comparison)));
  return rows;
}

/** The process of the database server, whose children its sessions are. */
async function processOf(databases: DatabaseServer): Promise<number> {
  await using sql = openClient(await databases.database("postgres"));
  const [found] = await sql.client<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return parentOf(found?.pid ?? 0);
}

type Comparison = {
  readonly systems: readonly System[];
  readonly pace: Pace;
  readonly only: string | undefined;
  readonly database: number;
  /** The number of the next call by question and system, so that no call is sent twice. */
  readonly numbers: Map<string, number>;
};

async function compared(one: Case, comparison: Comparison): Promise<Row[]> {
  const { pace, only } = comparison;
  const counts = one.callers.filter((count) => isChosen(one, count, only));
  const rows: Row[] = [];
  try {
    // Cold code runs many times slower.
    if (counts.length > 0) for (const { run } of entrantsOf(one, comparison)(hot)) await run(pace.warmSeconds);
    for (const count of counts) {
      const found = await interleave(entrantsOf(one, comparison)(count), pace);
      rows.push(...rowsOf(one, count, found));
    }
  } catch (error) {
    rows.push({ ...row(one.name, "", {}), note: `failed: ${whyOf(error)}` });
  }
  return rows;
}

type Entering = Entrant<Outcome> & { readonly door: Door; readonly system: System };

const entrantsOf =
  ({ question }: Case, { systems, database, numbers }: Comparison) =>
  (callers: number): Entering[] =>
    systems
      .filter(({ can }) => can.includes(question))
      .flatMap((system) =>
        system.doors.map((door) => ({
          ...{ name: door.who, door, system },
          run: async (seconds: number) => {
            const key = `${question} ${system.name}`;
            const from = numbers.get(key) ?? firstOf(question);
            const before = await cpuOf(system.pid, database);
            const load = { ...system.callsOf(question, door), url: door.url, callers, seconds, settle, from };
            const outcome = await generate(load);
            numbers.set(key, outcome.next);
            const after = await cpuOf(system.pid, database);
            const each = (which: 0 | 1) => ((after[which] - before[which]) / (outcome.next - from)) * 1000;
            return { ...outcome, serverMs: each(0), databaseMs: each(1) };
          },
        })),
      );

const firstOf = (question: Question) => (question === "grant" ? firstGrant : 0);

const cpuOf = (server: number, database: number): Promise<[number, number]> =>
  Promise.all([cpuSecondsOfFamily(server), cpuSecondsOfFamily(database)]);

type Found = ReadonlyMap<string, readonly Outcome[]>;

function rowsOf(one: Case, count: number, found: Found): Row[] {
  return [...found].map(([who, outcomes]) => {
    const goals = who.startsWith("Postern") ? goalOf(one, kindOf(who), count) : {};
    const figures = {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      ...(who.startsWith("Postern") ? ratiosOf(outcomes, kindOf(who), found) : {}),
      "p50 ms": round(middle(outcomes, ({ p50 }) => p50)),
      "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
      "server CPU ms": round(middle(outcomes, ({ serverMs }) => serverMs)),
      "database CPU ms": round(middle(outcomes, ({ databaseMs }) => databaseMs)),
      wrong: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    };
    return { ...row(`${one.name} · ${count}`, who, figures), goals: { ...goals, wrong: { most: 0 } } };
  });
}

const kindOf = (who: string) => (who.endsWith("gRPC") ? "grpc" : "json");

/** How many times as fast ours is as a peer through the same kind of door. */
function ratiosOf(outcomes: readonly Outcome[], kind: "grpc" | "json", found: Found) {
  const openfga = found.get(kind === "grpc" ? "OpenFGA gRPC" : "OpenFGA HTTP");
  return { "x OpenFGA": openfga && round(ratio(outcomes, openfga, ({ rate }) => rate)) };
}
