import { type NounFolds, touch } from "../../events/fold.ts";
import { machineTokensEnd } from "../sessions/sign_ins_end.ts";

/** The folds of facts about a client secret or key: they write its row and its hash or public key. */
export const machineCredentialFolds = {
  created: {
    views: [
      `insert into machine_credentials (owner, credential_id, user_id, kid, jwk, access_token_type, expiration_date, creator_id,
         version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', f.payload->'publicKey'->>'kid', f.payload->'publicKey',
         coalesce(f.payload->>'accessTokenType', 'OIDC_TOKEN_TYPE_BEARER'), (f.payload->>'expirationDate')::timestamptz, f.actor,
         f.version, f.time, f.time from $facts f`,
    ],
    credentials: [
      "insert into machine_proofs (credential_id, hash) select i.stream, decode(i.secret->>'hash', 'hex') from $input i",
    ],
  },
  replaced: {
    views: [
      touch("machine_credentials", "credential_id", "expiration_date = (f.payload->>'expirationDate')::timestamptz"),
    ],
  },
  removed: {
    views: ["delete from machine_credentials c using $facts f where c.owner = f.owner and c.credential_id = f.stream"],
    credentials: [
      "delete from machine_proofs where credential_id = any(array(select f.stream from $facts f))",
      machineTokensEnd("select f.stream from $facts f"),
    ],
  },
  tokenRevoked: {
    views: [touch("machine_credentials", "credential_id")],
    // It reads the facts, so that they are written before a token is locked. In the opposite order it could deadlock with a removal.
    credentials: [
      `delete from machine_tokens where hash = any(array(
  select decode(i.secret->>'hash', 'hex') from $facts f join $input i on i.stream = f.stream))`,
    ],
  },
} satisfies NounFolds<"machineCredential">;
