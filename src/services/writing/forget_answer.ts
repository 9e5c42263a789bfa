import { type Call, keys } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

/**
 * Deletes the answer that a call with an idempotency key recorded, before the credential that it made is ended: a repetition must not be
 * answered with that.
 */
export async function forgetAnswer(sql: Sql, { values }: Pick<Call, "values">): Promise<void> {
  const record = values.get(keys.idempotency);
  if (!record) return;
  const { caller, operation, key } = record;
  await sql`delete from idempotency where caller = ${caller} and operation = ${operation} and key = ${key}`;
}
