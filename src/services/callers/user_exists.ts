import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

export const userExistsRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, object>(sql, {
    asked: "owner text, id text",
    select: `select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });
