import { setTimeout as pause } from "node:timers/promises";
import { whyOf } from "../packages/gateway/bench/load/tools.ts";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { interleave, middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { type CostedOutcome, costed } from "./costed.ts";
import { isChosen } from "./peers/cases.ts";
import { freePort } from "./peers/program.ts";
import { type DatabaseServer, postmasterOf, startDatabaseServer } from "./server.ts";
import { startKeycloak } from "./signin/keycloak.ts";
import { startLibrary } from "./signin/oidc_provider.ts";
import { startPostern } from "./signin/postern.ts";
import type { Provider } from "./signin/provider.ts";
import { routeRows } from "./signin/routes.ts";

const pool = 32;
const counts = [1, 32, 128];
const hot = 64;
const settle = 0.5;
const moduleAt = (path: string) => new URL(path, import.meta.url).href;

/** What is asked of each provider, and how its rows are named. */
type Kind = {
  readonly subject: string;
  readonly rate: string;
  readonly sourceOf: (provider: Provider) => { readonly module: string; readonly options: unknown };
  readonly notes: Readonly<Record<Provider["name"], string>>;
  readonly goalsOf: (callers: number) => Row["goals"];
};

const starters = [startPostern, startLibrary, startKeycloak] as const;

const signOn: Kind = {
  subject: "sign on",
  rate: "sign-ons/s",
  sourceOf: ({ calls }) => ({ module: moduleAt("./signin/sign_on_calls.ts"), options: calls }),
  notes: {
    Postern: "the state of user, organization, project and grants read each time",
    "oidc-provider": "its users and clients are in memory, nothing is asked about them; one consent for ever",
    Keycloak: "sessions, users and clients cached in its process; the access token is a JWT, so it signs twice",
  },
  // A browser that is alone shows how long a sign-on takes, not how many there can be: for that there is no goal beside the library.
  goalsOf: (callers) => ({
    ...(callers > 1 ? { "x oidc-provider": { least: 2 } } : {}),
    ...{ "x Keycloak": { least: 1 }, "loop p99 ms": { most: 20 } },
  }),
};

const machineToken: Kind = {
  subject: "machine token",
  rate: "tokens/s",
  sourceOf: ({ machineCalls }) => ({ module: moduleAt("./signin/machine_calls.ts"), options: machineCalls }),
  notes: {
    Postern:
      "machine and grants remembered for 5 s unless a fact changes them, both in force when the token, a row, is written",
    "oidc-provider": "its clients are in memory, nothing is asked about them; the token is a row",
    Keycloak: "clients and their users cached in its process; the token is a JWT, and no row",
  },
  goalsOf: (callers) =>
    callers > 1 ? { "x oidc-provider": { least: 2 }, "x Keycloak": { least: 2 }, "loop p99 ms": { most: 20 } } : {},
};

/**
 * Compares whole sign-ons of users whose session is known, and tokens of machines by client credentials, with those of other providers, on
 * one database server.
 */
export async function signin(pace: Pace, only?: string): Promise<Row[]> {
  await using databases = await startDatabaseServer({ port: await freePort() });
  await using opened = new AsyncDisposableStack();
  const providers: Provider[] = [];
  for (const start of starters) {
    const provider = await started(start, databases);
    if (provider) providers.push(opened.use(provider));
  }
  const run = { pace, database: await postmasterOf(await databases.database("postgres")), numbers: new Map() };
  const chosen = [signOn, machineToken].map((kind) => ({
    kind,
    numbers: counts.filter((count) => isChosen(kind.subject, only, count)),
  }));
  for (const { kind, numbers } of chosen)
    if (numbers.length > 0) for (const provider of providers) await warm(provider, kind, run);
  const rows: Row[] = [];
  for (const { url, databaseUrl, token } of providers)
    if (token) rows.push(...(await routeRows({ url, databaseUrl, token }, (name) => isChosen(name, only))));
  for (const { kind, numbers } of chosen)
    for (const callers of numbers) rows.push(...(await compared(providers, kind, { run, callers })));
  return rows;
}

/** Starts a provider, where it is there and starts. */
async function started(start: (typeof starters)[number], databases: DatabaseServer): Promise<Provider | undefined> {
  try {
    const provider = await start(databases, pool);
    if (!provider) process.stdout.write("Keycloak is left out: bench/README.md says where it is looked for\n");
    return provider;
  } catch (error) {
    if (start !== startKeycloak) throw error;
    process.stdout.write(`Keycloak is left out: ${whyOf(error)}\n`);
    return undefined;
  }
}

type Run = {
  readonly pace: Pace;
  /** The process of the database server. */
  readonly database: number;
  /** The number of the next call by provider. */
  readonly numbers: Map<string, number>;
};

/** Has the code of a provider compiled, and its tables looked at, with rows in them. */
async function warm(provider: Provider, kind: Kind, run: Run): Promise<void> {
  await measured(provider, kind, { run, callers: hot, seconds: provider.warmSeconds });
  await using sql = openClient(provider.databaseUrl);
  await sql.client.unsafe("analyze");
}

type Size = { readonly run: Run; readonly callers: number; readonly seconds: number };
type Outcome = CostedOutcome & { readonly delay: number | undefined };

/** Calls a provider for some seconds, and asks for the delays of the event loop while it does. */
async function measured(provider: Provider, { sourceOf }: Kind, { run, ...size }: Size): Promise<Outcome> {
  const { name, url, pid, delay } = provider;
  const { database, numbers } = run;
  const from = numbers.get(name) ?? 0;
  const load = { source: sourceOf(provider), url, settle, from, ...size };
  const [outcome] = await Promise.all([
    costed(load, { server: pid, database }),
    // The delays until now do not count.
    pause(settle * 1000).then(delay),
  ]);
  numbers.set(name, outcome.next);
  return { ...outcome, delay: await delay?.() };
}

/** Measures all providers with so many callers, one alone at a time. */
async function compared(providers: readonly Provider[], kind: Kind, { run, callers }: Omit<Size, "seconds">) {
  const entrants = providers.map((provider) => ({
    name: provider.name,
    run: (seconds: number) => measured(provider, kind, { run, callers, seconds }),
  }));
  const found: Found = await interleave(entrants, run.pace);
  return providers.map(({ name }) => rowOf(name, kind, { callers, found }));
}

type Found = ReadonlyMap<string, readonly Outcome[]>;

type Compared = { readonly callers: number; readonly found: Found };

function rowOf(name: Provider["name"], { subject, rate, notes, goalsOf }: Kind, { callers, found }: Compared): Row {
  const outcomes = found.get(name) ?? [];
  const figures = {
    [rate]: Math.round(middle(outcomes, (outcome) => outcome.rate)),
    ...(name === "Postern" ? ratiosOf(found) : {}),
    "p50 ms": round(middle(outcomes, ({ p50 }) => p50)),
    "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
    "loop p99 ms": round(middle(outcomes, ({ delay = Number.NaN }) => delay)),
    "server CPU ms": round(middle(outcomes, ({ serverMs }) => serverMs)),
    "database CPU ms": round(middle(outcomes, ({ databaseMs }) => databaseMs)),
    wrong: outcomes.reduce((sum, { refused }) => sum + refused, 0),
  };
  const goals = { ...(name === "Postern" ? goalsOf(callers) : {}), [rate]: { least: 1 }, wrong: { most: 0 } };
  return { ...row(`${subject} · ${callers}`, name, figures), goals, note: notes[name] };
}

/** How many times as fast ours is as the others. */
function ratiosOf(found: Found) {
  const to = (peer: string) =>
    found.has(peer) ? round(ratio(found.get("Postern"), found.get(peer), ({ rate }) => rate)) : undefined;
  return { "x oidc-provider": to("oidc-provider"), "x Keycloak": to("Keycloak") };
}
