import { type Row, row } from "../packages/gateway/bench/report.ts";
import { interleave, middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { openClient } from "../test/fixture/database_client.ts";
import type { Recipe } from "../test/fixture/recipes.ts";
import { cpuSecondsOfFamily } from "./hostile/process.ts";
import { type LoadOutcome, together } from "./load.ts";
import { postmasterOf, servePostern } from "./server.ts";
import type { SystemUnderTest } from "./system_under_test.ts";

const names = ["one node", "two nodes", "three nodes"];
const callers = 48;
const settle = 1;

/** What one call costs: microseconds of CPU of the nodes and of the database, and statements, which calls share. */
type Cost = Readonly<Record<"nodeUs" | "databaseUs" | "statements", number>>;
type Spent = Cost & { readonly rate: number; readonly refused: number };

/** The calls that are compared, and the number of the first one. */
export type Called = { readonly name: string; readonly recipe: Recipe; readonly next: number };

/** Compares what a call costs on one, two and three nodes that share the same callers: calls share statements within a node only. */
export async function costOfNodes(system: SystemUnderTest, called: readonly Called[], pace: Pace): Promise<Row[]> {
  await using opened = new AsyncDisposableStack();
  const nodes = [system.server];
  while (nodes.length < names.length) nodes.push(opened.use(await servePostern({ env: system.env })));
  const postmaster = await postmasterOf(system.databaseUrl);
  const { client } = opened.use(openClient(system.databaseUrl));
  const rows: Row[] = [];
  for (const { name, recipe, next } of called) {
    let from = next;
    const runOn = (count: number) => async (seconds: number) => {
      const used = nodes.slice(0, count);
      const loads = used.map(({ url }, at) => ({
        ...({ url, recipe, seconds, settle, token: system.token, protocol: "grpc", callers: callers / count } as const),
        from: from + at * mostPerSecond * (seconds + settle),
      }));
      from += count * mostPerSecond * (seconds + settle);
      const usage = async (): Promise<Cost> => ({
        nodeUs: (await Promise.all(used.map((one) => one.usage()))).reduce((sum, { cpu }) => sum + cpu, 0),
        databaseUs: (await cpuSecondsOfFamily(postmaster)) * 1e6,
        statements: await statementsOf(client),
      });
      const before = await usage();
      const outcomes = await together(loads);
      return spent(outcomes, before, await usage());
    };
    const entrants = names.map((who, at) => ({ name: who, run: runOn(at + 1) }));
    rows.push(...rowsOf(name, await interleave(entrants, pace)));
  }
  return rows;
}

// No two calls have the same number, whichever node they go to.
const mostPerSecond = 8_000;

/** Each statement is a transaction of its own. */
async function statementsOf(client: ReturnType<typeof openClient>["client"]): Promise<number> {
  const [row] = await client<{ count: string }[]>`
    select xact_commit as count from pg_stat_database where datname = current_database()`;
  return Number(row?.count);
}

function spent(outcomes: readonly LoadOutcome[], before: Cost, after: Cost): Spent {
  const sum = (figure: (one: LoadOutcome) => number) => outcomes.reduce((all, one) => all + figure(one), 0);
  const calls = sum(({ granted, refused }) => granted + refused);
  return {
    rate: sum(({ rate }) => rate),
    refused: sum(({ refused }) => refused),
    nodeUs: (after.nodeUs - before.nodeUs) / calls,
    databaseUs: (after.databaseUs - before.databaseUs) / calls,
    statements: (after.statements - before.statements) / calls,
  };
}

function rowsOf(name: string, found: ReadonlyMap<string, readonly Spent[]>): Row[] {
  const alone = found.get(names[0] ?? "");
  return [...found].map(([who, outcomes]) => ({
    ...row(`${name} · ${callers} callers`, who, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "node us": Math.round(middle(outcomes, ({ nodeUs }) => nodeUs)),
      "database us": Math.round(middle(outcomes, ({ databaseUs }) => databaseUs)),
      "statements a call": round(middle(outcomes, ({ statements }) => statements)),
      "database x one": round(ratio(outcomes, alone, ({ databaseUs }) => databaseUs)),
      refused: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    }),
    goals: { refused: { most: 0 } },
  }));
}
