import { whyOf } from "../../packages/gateway/bench/load/tools.ts";
import { type Row, row } from "../../packages/gateway/bench/report.ts";
import { type Entrant, interleave, middle, type Pace, ratio } from "../../packages/gateway/bench/rounds.ts";
import { round } from "../../packages/gateway/bench/stats.ts";
import { type CostedOutcome, costed } from "../costed.ts";
import { type Case, differenceOf, goalsOf, isChosen } from "./cases.ts";
import { firstGrant, type Question } from "./question.ts";
import type { Door, System } from "./system.ts";

const hot = 64;
const settle = 0.5;

/** The systems that are compared, and how. */
export type Comparison = {
  readonly systems: readonly System[];
  readonly pace: Pace;
  readonly only: string | undefined;
  /** The process of the database server. */
  readonly database: number;
  /** The number of the next call by question and system, so that no call is sent twice. */
  readonly numbers: Map<string, number>;
};

/** Compares the systems in one case; a failure is noted in its row, and the others go on. */
export async function compared(one: Case, comparison: Comparison): Promise<Row[]> {
  const { pace, only } = comparison;
  const counts = one.callers.filter((count) => isChosen(one.name, only, count));
  const rows: Row[] = [];
  try {
    const questions = [one.question, ...(one.beside ? [one.beside] : [])];
    const calls = callsOf(one, comparison);
    // Cold code runs many times slower: the lone caller comes after many others.
    for (const call of counts.length > 0 ? calls : [])
      await load(call, comparison, { callers: hot, seconds: call.system.warmSeconds });
    for (const callers of counts) {
      const entrants = calls.map(
        (call): Entrant<CostedOutcome> => ({
          name: keyOf(call),
          run: (seconds) => load(call, comparison, { callers, seconds }),
        }),
      );
      const found = await interleave(entrants, pace);
      const shown = calls.filter(({ question }) => question === questions[0]);
      rows.push(...shown.map((call) => rowOf(one, call, { callers, found })));
    }
  } catch (error) {
    rows.push({ ...row(one.name, "", {}), note: `failed: ${whyOf(error)}` });
  }
  return rows;
}

/** A question through a door of a system. */
export type Call = { readonly system: System; readonly door: Door; readonly question: Question };

const callsOf = ({ question, beside, kinds }: Case, { systems }: Comparison): Call[] =>
  systems
    .filter(({ can }) => can.includes(question))
    .flatMap((system) => system.doors.filter(({ kind }) => kinds.includes(kind)).map((door) => ({ system, door })))
    .flatMap((call) => [question, ...(beside ? [beside] : [])].map((asked) => ({ ...call, question: asked })));

const keyOf = ({ door, question }: Omit<Call, "system">) => `${door.who} ${question}`;

type Size = { readonly callers: number; readonly seconds: number };

/** Asks for some seconds; the numbers of the calls go on where the last load ended. */
export async function load(
  { system, door, question }: Call,
  comparison: Comparison,
  size: Size,
): Promise<CostedOutcome> {
  const { numbers, database } = comparison;
  const key = `${system.name} ${question}`;
  const from = numbers.get(key) ?? (question === "grant" ? firstGrant : 0);
  const one = { ...system.callsOf(question, door), url: door.url, settle, from, ...size };
  const outcome = await costed(one, { server: system.pid, database });
  numbers.set(key, outcome.next);
  return outcome;
}

type Found = {
  readonly callers: number;
  readonly found: ReadonlyMap<string, readonly CostedOutcome[]>;
};

function rowOf(one: Case, call: Call, { callers, found }: Found): Row {
  const { system, door, question } = call;
  const outcomes = found.get(keyOf(call)) ?? [];
  const single = one.beside && found.get(keyOf({ door, question: one.beside }));
  const figures = {
    "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
    ...(system.name === "Postern" ? ratiosOf(call, { callers, found }) : {}),
    "to one": single && round(ratio(outcomes, single, ({ rate }) => 1 / rate)),
    "p50 ms": round(middle(outcomes, ({ p50 }) => p50)),
    "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
    "server CPU ms": round(middle(outcomes, ({ serverMs }) => serverMs)),
    "database CPU ms": round(middle(outcomes, ({ databaseMs }) => databaseMs)),
    wrong: outcomes.reduce((sum, { refused }) => sum + refused, 0),
  };
  const goals = { ...goalsOf(one, door, callers), "calls/s": { least: 1 }, wrong: { most: 0 } };
  const note = differenceOf(system, question);
  return { ...row(`${one.name} · ${callers}`, door.who, figures), goals, ...(note && { note }) };
}

/** How many times as fast ours is as the peers through the same kind of door; Keycloak has one for all. */
function ratiosOf({ door, question }: Call, { found }: Found) {
  const through = (who: string) => {
    const peer = found.get(keyOf({ door: { ...door, who }, question }));
    const ours = found.get(keyOf({ door, question }));
    return peer && round(ratio(ours, peer, ({ rate }) => rate));
  };
  return {
    "x OpenFGA": through(door.kind === "grpc" ? "OpenFGA gRPC" : "OpenFGA HTTP"),
    "x Keycloak": through("Keycloak"),
  };
}
