import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken } from "../../security/token.ts";

/** A signed assertion or proof that can be used once: its signer, its identifier, and until when it would be accepted. */
export type SingleUse = { readonly by: string; readonly id: string; readonly until: Date };

/** Whether an assertion or proof is used for the first time, on any node. */
export async function isFirstUse(sql: Sql, { by, id, until }: SingleUse): Promise<boolean> {
  const made = await sql`
    insert into client_assertions (app_id, hash, expiration_date) values (${by}, ${hashToken(id)}, ${until})
    on conflict do nothing`;
  return made.count === 1;
}
