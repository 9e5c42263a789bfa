import { type Call, callOrigin, type Deps } from "../../deps.ts";
import type { Origin } from "../../events/log.ts";
import { sharedWrite } from "../../events/shared_write.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { callerRead } from "./caller_lookups.ts";

const hourMs = 3_600_000;

// After a failed write, as on a read-only database, writes pause instead of being tried on every lookup.
const pauseMs = 60_000;

/**
 * Finds callers as `callerRead` does, and records when and from where sessions and personal access tokens are used: at most once an hour,
 * without making any call wait.
 */
export function notingUse({ sql, clock }: Pick<Deps, "sql" | "clock">) {
  const find = callerRead(sql);
  const write = useWrite(sql);
  const underWay = new Set<string>();
  let pausedUntil = 0;

  return async (hash: string, call?: Call) => {
    const found = await find(hash);
    if (found?.caller.sessionId || found?.caller.tokenId) note(hash, found.lastUsed, call);
    return found;
  };

  function note(hash: string, lastUsed: Date | null, call: Call | undefined): void {
    const now = clock().getTime();
    if (now - (lastUsed?.getTime() ?? 0) < hourMs || now < pausedUntil || underWay.has(hash)) return;
    underWay.add(hash);
    write({ hash, time: new Date(now).toISOString(), origin: call && callOrigin(call) })
      .catch(() => {
        pausedUntil = now + pauseMs;
      })
      .finally(() => underWay.delete(hash));
  }
}

/** The use of a session or an access token, by the hash of its token. */
type Use = Readonly<{ hash: string; time: string; origin: Origin | undefined }>;

/** Records a use, unless one within the last hour is recorded. */
export const useWrite = (sql: Sql) =>
  sharedWrite<Use, object>(sql, {
    asked: "hash text, time timestamptz, origin jsonb",
    select: `update bearers b set last_used = asked.time, last_used_origin = asked.origin from asked
      where b.hash = decode(asked.hash, 'hex') and coalesce(b.last_used, '-infinity') <= asked.time - interval '1 hour' returning n`,
  });
