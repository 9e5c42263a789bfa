import { expect } from "vitest";
import { clientOf } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { effectsStatement } from "./operations.ts";
import type { Writers } from "./writers.ts";

/** The outcomes of the writes, with the first of those that went wrong. */
export type Tally = Writers["total"] & {
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: readonly string[];
};

/** Compares what clients know with the log. */
export async function tally(databaseUrl: string, { effects, total }: Writers): Promise<Tally> {
  const rows = await ask<{ effect: string; count: number }>(databaseUrl, effectsStatement);
  const logged = new Map(rows.map(({ effect, count }) => [effect, count]));
  const wrong: string[] = [];
  let [lost, doubled] = [0, 0];
  for (const effect of new Set([...effects.keys(), ...logged.keys()])) {
    const { acknowledged = 0, unknown = 0 } = effects.get(effect) ?? {};
    const found = logged.get(effect) ?? 0;
    const [missing, surplus] = [Math.max(0, acknowledged - found), Math.max(0, found - acknowledged - unknown)];
    if (missing + surplus > 0)
      wrong.push(`${effect}: ${found} logged, ${acknowledged} acknowledged, ${unknown} unknown`);
    lost += missing;
    doubled += surplus;
  }
  return { ...total, lost, doubled, wrong: wrong.slice(0, 10) };
}

/** Prints the figures, and fails on any loss and any double; users sign in by the passwords that were acknowledged. */
export async function expectEachOnce(what: string, at: { url: string; databaseUrl: string }, writers: Writers) {
  const found = await tally(at.databaseUrl, writers);
  const { acknowledged, unknown, refused, repeated, lost, doubled } = found;
  console.log(
    `${what}: ${acknowledged} writes acknowledged, ${unknown} unknown, ${refused} refused, ${repeated} tries repeated;`,
    `${lost} lost, ${doubled} doubled;`,
    JSON.stringify(Object.fromEntries(writers.reasons)),
  );
  expect({ lost, doubled, wrong: found.wrong }).toEqual({ lost: 0, doubled: 0, wrong: [] });
  expect(await withoutPassword(at.url, writers)).toEqual([]);
}

/** The users that none of their passwords signs in. */
async function withoutPassword(url: string, { passwords }: Writers): Promise<string[]> {
  const nobody = clientOf(url);
  const found: string[] = [];
  for (const { loginName, candidates } of passwords()) {
    const statuses: number[] = [];
    for (const password of candidates.toReversed())
      statuses.push((await nobody.post("/v1/sessions", { loginName, password })).status);
    if (!statuses.includes(200)) found.push(`${loginName}: ${statuses}`);
  }
  return found;
}
