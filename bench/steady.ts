import { type Row, row } from "../packages/gateway/bench/report.ts";
import { median, round } from "../packages/gateway/bench/stats.ts";
import { generate, type LoadOutcome } from "./load.ts";
import type { SystemUnderTest } from "./system_under_test.ts";

const seconds = 5;

/** Four hundred AddUserGrant a second at most, of eight callers, five seconds at a time; the number of the first grant. */
export function steadyLoad(
  { server: { url }, token }: SystemUnderTest,
  users: number,
  first = 0,
): () => Promise<LoadOutcome> {
  let from = first;
  return async () => {
    const recipe = { kind: "add_user_grant", users } as const;
    const outcome = await generate({ url, protocol: "grpc", recipe, token, from, callers: 8, everyMs: 20, seconds });
    from = outcome.next;
    return outcome;
  };
}

/** What such loads met, in the middle of them all. */
export function steadyRow(who: string, outcomes: readonly LoadOutcome[]): Row {
  return row("AddUserGrant at a steady pace", who, {
    "calls/s": Math.round(median(outcomes.map(({ rate }) => rate))),
    "p50 ms": round(median(outcomes.map(({ p50 }) => p50))),
    "p99 ms": round(median(outcomes.map(({ p99 }) => p99))),
    refused: outcomes.reduce((sum, { refused }) => sum + refused, 0),
  });
}

/** Tells whether work is over. */
export function over(work: Promise<unknown>): () => boolean {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  return () => isOver;
}
