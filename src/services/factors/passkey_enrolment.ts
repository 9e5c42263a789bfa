import { randomBytes } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ConfirmPasskeyRequest, FactorService } from "../../../gen/postern/v1/factor_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf } from "../../events/fact.ts";
import { load, loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import {
  type Challenged,
  checkedCreation,
  creationOptions,
  hasName,
  type NewPasskey,
  type PasskeyName,
  type PublicSettings,
  relyingParty,
} from "../../security/passkey.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import {
  type EnrollingUser,
  enrollingUser,
  refuseEnrolment,
  refuseWithoutFactor,
  unrestricted,
} from "./enrolling_user.ts";
import { enrolments } from "./enrolment.ts";

export const passkeyEnrolment = (deps: Deps, settings: PublicSettings & NoticeSettings) => {
  const { log, sql, clock } = deps;
  const caller = enrollingUser(deps);
  const enrolment = enrolments(deps, "passkey");
  const passkeysOf = passkeysRead(sql);
  const isKnown = knownRead(sql);
  const notice = notices(deps, settings);
  const party = relyingParty(settings);

  return {
    async startPasskey(_request: unknown, call: Call) {
      const user = await caller(call);
      refusePasskey(user);
      if (!hasName(party)) throw refuse.because("PASSKEY_HOST", { params: { host: party.id } });
      const credentials = await passkeysOf({ user: user.id }, call.signal);
      const handle = credentials[0]?.handle ?? randomBytes(handleBytes);
      const challenge = randomBytes(challengeBytes);
      const { started, expirationDate } = enrolment.start(user, Buffer.concat([challenge, handle]));
      const { username, displayName } = user;
      const options = creationOptions({ challenge, party }, { handle, username, displayName, credentials });
      return log.append(call, [started], { options, expirationDate });
    },

    async confirmPasskey({ credential = {}, name }: NamedAnswer, call: Call) {
      const user = await caller(call);
      refusePasskey(user);
      refuseWithoutFactor(user);
      const found = await enrolment.find(user, call.signal);
      const challenge = found.secret.subarray(0, challengeBytes);
      const passkey = await proven(credential, { challenge, party }, call);
      const at = enrolment.end(user, found);
      const value = { userId: user.id, name, isSynced: passkey.isSynced };
      const ofPasskey = secretOf(passkey, found.secret.subarray(challengeBytes));
      const secret = { ...ofPasskey, host: party.id, ...notice("factor_added", call) };
      const added = factOf("factor", at, { case: "passkeyAdded", value }, secret);
      const facts = [added, ...unrestricted(user, amrOf(passkey), clock())];
      return log.append(call, facts, { factorId: at.stream, details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof FactorService>>;

  async function proven(credential: JsonObject, asked: Challenged, { signal }: Call): Promise<NewPasskey> {
    const passkey = await checkedCreation(credential, asked);
    if (!passkey || (await isKnown({ id: Buffer.from(passkey.id).toString("hex") }, signal)))
      throw unproven("credential");
    return passkey;
  }
};

/** The response of an authenticator, and the name of the new passkey. */
type NamedAnswer = Pick<ConfirmPasskeyRequest, "credential" | "name">;

const challengeBytes = 32;
// WebAuthn, 14.6.1: random, so that a lost authenticator reveals nothing about the user.
const handleBytes = 64;
const mostPasskeys = 20;

function refusePasskey(user: EnrollingUser): void {
  refuseEnrolment(user);
  if (user.factors.filter(({ kind }) => kind === "passkey").length >= mostPasskeys)
    throw refuse.because("FACTOR_LIMIT");
}

const secretOf = ({ id, publicKey, counter, transports }: NewPasskey, handle: Uint8Array) => ({
  id: Buffer.from(id).toString("hex"),
  publicKey: Buffer.from(publicKey).toString("hex"),
  handle: Buffer.from(handle).toString("hex"),
  counter,
  transports: [...transports],
});

/** The methods of a passkey sign-in (RFC 8176): proof of possession of the key, with user verification. */
export const amrOf = ({ isSynced }: { readonly isSynced: boolean }): string[] => [
  isSynced ? "swk" : "hwk",
  "user",
  "mfa",
];

/** Makes the error for a response that does not come from one of the user's passkeys. */
export function unproven(field: string) {
  const reason = "PASSKEY_INVALID";
  return refuse.because(reason, { violations: [{ field, text: "PASSKEY_UNPROVEN", reason }] });
}

type PasskeyRow = PasskeyName & { readonly handle: Uint8Array };

/** Reads the credential ids of a user's passkeys. */
export const passkeysRead = (sql: Sql) =>
  load<{ user: string }, PasskeyRow>(sql, {
    asked: `"user" text`,
    select: `select n, p.credential_id as id, p.transports, p.user_handle as handle
             from asked join passkeys p on p.user_id = asked."user" order by n, p.factor_id`,
  });

/** Reads whether any user already has a credential. */
const knownRead = (sql: Sql) =>
  loadOne<{ id: string }, object>(sql, {
    asked: "id text",
    select: `select n from asked join passkeys p on p.credential_id = decode(asked.id, 'hex')`,
  });
