import { load } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

/** Makes the read of the names of projects by their ids, without those that are gone. */
export function projectNamesRead(sql: Sql) {
  const read = load<{ ids: readonly string[] }, { id: string; name: string }>(sql, {
    asked: "ids text[]",
    select: `select n, p.project_id as id, p.name from asked cross join lateral (
        select q.project_id, q.name from projects q where q.project_id = any(asked.ids) offset 0) p`,
  });
  return async (ids: readonly string[], signal?: AbortSignal): Promise<Readonly<Record<string, string>>> => {
    const found = ids.length === 0 ? [] : await read({ ids: [...new Set(ids)] }, signal);
    return Object.fromEntries(found.map(({ id, name }) => [id, name]));
  };
}
