import { randomBytes } from "node:crypto";
import { newToken } from "../src/security/token.ts";
import { type Ground, open, type Served, serve, startGround } from "./ground.ts";
import { generate, type Outcome } from "./load/generator.ts";
import { phoneOf, type Recipe } from "./load/recipes.ts";
import { has, mostPerSecond, pgbench, type Slot } from "./pgbench.ts";
import { type Row, row } from "./report.ts";
import { type Entrant, interleave, middle, type Pace, ratio } from "./rounds.ts";
import { idOf, idSql, seed } from "./seed.ts";
import { markOf, statementsOf } from "./statements.ts";
import { round } from "./stats.ts";

const callers = [1, 32, 128];

type Case = { readonly name: string; readonly recipe: Recipe; readonly slots: readonly Slot[] };

/** A running service with a database of its own, and its administrator. */
export type Bed = AsyncDisposable & {
  readonly databaseUrl: string;
  readonly server: Served;
  readonly token: string;
  readonly organizationId: string;
  readonly userId: string;
  readonly env: Readonly<Record<string, string>>;
};

/** Starts the service on a new database. */
export async function makeBed(ground: Ground, name: string): Promise<Bed> {
  const databaseUrl = await ground.database(name);
  const token = newToken("pt");
  const secrets = { POSTERN_ADMIN_TOKEN: token, POSTERN_MASTER_KEY: randomBytes(32).toString("base64") };
  const env = { DATABASE_URL: databaseUrl, PORT: "0", LOG_LEVEL: "warn", PHONE_SENDS_PER_USER: "1000000", ...secrets };
  const server = await serve("postern", { env });
  await using sql = open(databaseUrl);
  const [admin] = await sql.client`select owner, user_id from users where username = 'admin'`;
  return {
    ...{ databaseUrl, server, token, env, organizationId: admin?.owner, userId: admin?.user_id },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The operations end to end, against pgbench running the same statements on the same server. */
export async function operations(pace: Pace, only?: string): Promise<Row[]> {
  await using ground = await startGround();
  await using bed = await makeBed(ground, "operations");
  await using sql = open(bed.databaseUrl);
  const users = usersFor(pace);
  await seed(sql.client, bed.organizationId, { users, projects: 3, grants: 0, changes: 0 });
  const peer = await has("pgbench");
  if (!peer) process.stdout.write("pgbench is missing (Debian: postgresql-contrib): its column is left out\n");
  const rows: Row[] = [];
  for (const one of casesOf(bed, users).filter(({ name }) => !only || name === only))
    rows.push(...(await measured({ bed, one, pace, peer })));
  return rows;
}

/** One for every command, since pgbench changes a phone only once: it repeats the version that it was told. */
function usersFor({ rounds, seconds, warmSeconds }: Pace): number {
  return callers.length * (warmSeconds + rounds * seconds) * 3 * mostPerSecond;
}

type Measuring = { readonly bed: Bed; readonly one: Case; readonly pace: Pace; readonly peer: boolean };

async function measured({ bed, one, pace, peer }: Measuring): Promise<Row[]> {
  const { databaseUrl: url, server, token } = bed;
  const statements = await statementsOf({ url, ...bed }, one.recipe, template);
  let from = template + 1;
  const load = (count: number, protocol: "grpc" | "json") => async (seconds: number) => {
    const { recipe } = one;
    const outcome = await generate({ url: server.url, protocol, callers: count, seconds, token, recipe, from });
    from = outcome.next;
    return outcome;
  };
  const peerRun = (count: number) => async (seconds: number) => {
    const outcome = await pgbench({ url, statements, slots: one.slots, callers: count, seconds, from });
    from = outcome.next;
    return outcome;
  };
  const rows: Row[] = [];
  for (const count of callers) {
    const entrants: Entrant<Outcome>[] = [
      { name: "grpc", run: load(count, "grpc") },
      { name: "json", run: load(count, "json") },
      ...(peer ? [{ name: "pgbench", run: peerRun(count) }] : []),
    ];
    rows.push(...rowsOf(`${one.name} · ${count}`, await interleave(entrants, pace)));
  }
  return rows;
}

function rowsOf(subject: string, found: ReadonlyMap<string, readonly Outcome[]>): Row[] {
  const peers = found.get("pgbench");
  return [...found].map(([name, outcomes]) =>
    row(subject, name, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "x pgbench": peers ? round(ratio(outcomes, peers, ({ rate }) => rate)) : undefined,
      "p50 ms": round(middle(outcomes, ({ p50 }) => p50)),
      "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
      refused: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    }),
  );
}

const template = 1;

function casesOf({ userId }: Bed, users: number): Case[] {
  const user = { text: idOf("user", template % users), sql: idSql("user", `:n % ${users}`) };
  const project = { text: idOf("project", 0), sql: idSql("project", `:n / ${users}`) };
  const phone = { text: phoneOf(template), sql: "'+49151' || (20000000 + :n)" };
  const name = { text: `Application ${template}`, sql: "'Application ' || :n" };
  return [
    caseOf("AddUserGrant", { kind: "add_user_grant", users }, [user, project]),
    caseOf("ChangePhone", { kind: "change_phone", users }, [user, phone]),
    caseOf("CreateOidcApplication", { kind: "create_application" }, [name]),
    caseOf("GetMe", { kind: "get_me" }, [{ text: userId, sql: `'${userId}'` }]),
  ];
}

/** The identifiers that a call makes are made of its number by pgbench. */
function caseOf(name: string, recipe: Recipe, slots: readonly Slot[]): Case {
  const made = [0, 1, 2].map((at) => ({
    text: markOf(recipe, at),
    sql: `'06h${at}${recipe.kind.slice(0, 3)}' || lpad((:n)::text, 17, '0')`,
  }));
  return { name, recipe, slots: [...slots, ...made] };
}
