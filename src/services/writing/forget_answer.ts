import { type Call, keys } from "../../deps.ts";
import { triedAgain } from "../../guards/lock_retry.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { aside } from "./side_call.ts";

/**
 * Deletes the answer that a call with an idempotency key recorded, before the credential that it made is ended: a repetition must not get
 * an answer with that credential.
 */
export async function forgetAnswer(sql: Sql, call: Call): Promise<void> {
  const record = call.values.get(keys.idempotency);
  if (!record) return;
  const { caller, operation, key } = record;
  const forget = async () => {
    await sql`delete from idempotency where caller = ${caller} and operation = ${operation} and key = ${key}`;
  };
  await triedAgain(forget, aside(call));
}
