import type { Deps } from "../../deps.ts";
import { sharedWrite } from "../../events/shared_write.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { callerRead } from "./caller_lookups.ts";

const hourMs = 3_600_000;

// After a failed write, as on a read-only database, writes pause instead of being tried on every lookup.
const pauseMs = 60_000;

/**
 * Finds callers as `callerRead` does, and records the use of personal access tokens: at most once an hour, without making any call wait.
 */
export function notingUse({ sql, clock }: Pick<Deps, "sql" | "clock">): ReturnType<typeof callerRead> {
  const find = callerRead(sql);
  const write = useWrite(sql);
  const underWay = new Set<string>();
  let pausedUntil = 0;

  return async (hash) => {
    const found = await find(hash);
    if (found?.caller.tokenId !== undefined) note(found.caller.tokenId, found.lastUsed);
    return found;
  };

  function note(tokenId: string, lastUsed: Date | null): void {
    const now = clock().getTime();
    if (now - (lastUsed?.getTime() ?? 0) < hourMs || now < pausedUntil || underWay.has(tokenId)) return;
    underWay.add(tokenId);
    write({ token_id: tokenId, time: new Date(now).toISOString() })
      .catch(() => {
        pausedUntil = now + pauseMs;
      })
      .finally(() => underWay.delete(tokenId));
  }
}

/** Records the use of an access token, unless a use within the last hour is recorded. */
export const useWrite = (sql: Sql) =>
  sharedWrite<{ token_id: string; time: string }, object>(sql, {
    asked: "token_id text, time timestamptz",
    select: `update bearers b set last_used = asked.time from asked
      where b.token_id = asked.token_id and coalesce(b.last_used, '-infinity') <= asked.time - interval '1 hour' returning n`,
  });
