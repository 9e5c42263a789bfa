import type { JsonObject } from "@bufbuild/protobuf";
import type { Call, Deps } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { sameBytes } from "../../security/compare.ts";
import { checkedRequest, credentialIdIn, type RelyingParty, userHandleIn } from "../../security/passkey.ts";
import { userInForce } from "../callers/in_force.ts";
import { type FactorRow, factorColumns } from "./factor_read.ts";
import { FactorRefusal, namesOf, type RecordRefusal } from "./factor_refusal.ts";
import { amrOf, unproven } from "./passkey_enrolment.ts";

/** The challenge for a passkey, the user if already known, and the request field of the response. */
type Challenge = { readonly challenge: Uint8Array; readonly userId?: string; readonly field: string };

type Row = FactorRow & {
  readonly credentialId: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly handle: Uint8Array;
  readonly counter: bigint;
  readonly transports: readonly string[];
  readonly since: string | null;
};

export type PasskeyProof = ReturnType<typeof provenPasskey>;

/** Makes the checks of passkey responses, for active users. */
export function provenPasskey({ sql }: Pick<Deps, "sql">, party: RelyingParty, record: RecordRefusal) {
  const passkeyOf = passkeyRead(sql);

  return {
    /** Returns the factor, the state that its fact must store, and the methods of the sign-in; fails if the response proves nothing. */
    async check(answer: JsonObject, asked: Challenge, call: Call) {
      const row = await rowOf(answer, call);
      if (!row) throw unproven(asked.field);
      const counter = isOf(row, answer, asked.userId) ? await counted(row, answer, asked.challenge) : "USER";
      if (typeof counter === "number") return { row, since: row.since, secret: { counter }, amr: amrOf(row) };
      record({ ...namesOf(row), reason: FactorRefusal[counter] }, call);
      throw unproven(asked.field);
    },

    /** Records that a response to a challenge was replayed. */
    async replayed(answer: JsonObject, call: Call): Promise<void> {
      const row = await rowOf(answer, call);
      if (row) record({ ...namesOf(row), reason: FactorRefusal.REPLAY }, call);
    },
  };

  async function rowOf(answer: JsonObject, { signal }: Call): Promise<Row | undefined> {
    const id = credentialIdIn(answer);
    return id && passkeyOf({ credential: id.toString("hex") }, signal);
  }

  async function counted(row: Row, answer: JsonObject, challenge: Uint8Array) {
    const { credentialId: id, publicKey, transports } = row;
    return checkedRequest(answer, { challenge, party }, { id, publicKey, transports, counter: Number(row.counter) });
  }
}

/** Whether the response comes from the user already known, if any, and from the one that the authenticator names. */
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
