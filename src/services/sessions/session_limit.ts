import type { Call, Deps } from "../../deps.ts";
import { next, type Versioned } from "../../events/fact.ts";
import { lostRace } from "../../events/log.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { signedOutAt } from "./session_end.ts";

/** The maximum number of sessions of a user; a sign-in beyond that signs out the oldest. */
export const mostSessions = 1_000;

// Concurrent sign-ins see each other's sessions: one of them ends the surplus, and the others look again.
const mostTries = 5;

/** Signs out a user's oldest sessions beyond the maximum. */
export async function signOutSurplus(deps: Pick<Deps, "log" | "sql" | "clock">, userId: string, call: Call) {
  const { log, sql, clock } = deps;
  for (let tries = 0; tries < mostTries; tries++) {
    const rows = await surplusOf(sql, userId);
    if (rows.length === 0) return;
    const facts = rows.map((row) => signedOutAt(next(row, clock()), userId));
    await log.append(call, facts, true).catch(lostRace);
  }
}

const surplusOf = (sql: Sql, userId: string) => sql<Versioned[]>`
  select s.session_id as id, s.owner, s.version, s.created, s.changed from sessions s
  where s.user_id = ${userId} order by s.session_id desc offset ${mostSessions} limit 100`;
