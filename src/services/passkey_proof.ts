import type { JsonObject } from "@bufbuild/protobuf";
import type { Deps } from "../deps.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { sameBytes } from "../security/compare.ts";
import { checkedRequest, credentialIdIn, type RelyingParty, userHandleIn } from "../security/passkey.ts";
import { type FactorRow, factorColumns } from "./factor_read.ts";
import { userInForce } from "./in_force.ts";
import { amrOf, unproven } from "./passkey_enrolment.ts";

/** The challenge that a passkey is to answer, the user where it is known already, and the field of the answer. */
type Challenge = { readonly challenge: Uint8Array; readonly userId?: string; readonly field: string };

type Row = FactorRow & {
  readonly credentialId: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly handle: Uint8Array;
  readonly counter: bigint;
  readonly transports: readonly string[];
  readonly since: string | null;
};

/** Checks the answer of a passkey, of an active user: answers the factor, what its fact has to keep, and the methods. */
export function provenPasskey({ sql }: Pick<Deps, "sql">, party: RelyingParty) {
  const passkeyOf = passkeyRead(sql);
  return async (answer: JsonObject, { challenge, userId, field }: Challenge, signal: AbortSignal) => {
    const id = credentialIdIn(answer);
    const row = id && (await passkeyOf({ credential: id.toString("hex") }, signal));
    if (!row || !isOf(row, answer, userId)) throw unproven(field);
    const { publicKey, transports } = row;
    const stored = { id: row.credentialId, publicKey, transports, counter: Number(row.counter) };
    const counter = await checkedRequest(answer, { challenge, party }, stored);
    if (counter === undefined) throw unproven(field);
    return { row, since: row.since, secret: { counter }, amr: amrOf(row) };
  };
}

/** Whether the answer is of the user: the one that is known, and the one that the authenticator names. */
function isOf(row: Row, answer: JsonObject, userId: string | undefined): boolean {
  const handle = userHandleIn(answer);
  if (handle === undefined ? userId === undefined : !sameBytes(handle, row.handle)) return false;
  return userId === undefined || userId === row.userId;
}

const passkeyRead = (sql: Sql) =>
  loadOne<{ credential: string }, Row>(sql, {
    asked: "credential text",
    select: `select n, ${factorColumns}, k.credential_id as "credentialId", k.public_key as "publicKey",
               k.user_handle as handle, k.counter, k.transports, p.changed::text as since
             from asked join passkeys k on k.credential_id = decode(asked.credential, 'hex')
             join factors f on f.factor_id = k.factor_id
             join users u on u.user_id = f.user_id and ${userInForce}
             left join passwords p on p.user_id = u.user_id`,
  });
