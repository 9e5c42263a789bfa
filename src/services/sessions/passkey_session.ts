import { randomBytes } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { SessionService } from "../../../gen/postern/v1/session_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import {
  hasName,
  type PublicSettings,
  passkeySeconds,
  type RelyingParty,
  relyingParty,
  requestOptions,
} from "../../security/passkey.ts";
import { type Keyring, SealBroken } from "../../security/seal.ts";
import { countNetwork } from "../callers/network_rate.ts";
import type { PasskeyProof } from "../factors/passkey_proof.ts";
import { usedFact } from "./complete_session.ts";
import { callSession, confirmedSessions, newSessions, type SessionKind, type SessionLifetime } from "./new_session.ts";
import { challengeOver } from "./pending_session.ts";
import type { SignInLimits } from "./sign_in_limit.ts";

type PasskeyAnswer = { readonly challengeToken: string; readonly credential: JsonObject; readonly call: Call };

/** Sign-in with only a passkey, for calls and pages. */
export type PasskeySignIn = {
  /** Whether browsers can use passkeys on the host of our pages. */
  readonly isPossible: boolean;
  /** Makes a challenge valid for this long, and the options to request it with. */
  readonly start: (seconds: number) => PasskeyQuestion;
  readonly complete: <A>(answer: PasskeyAnswer, kind: SessionKind<A>) => Promise<A>;
};

/** A challenge in the form that pages and callers get. */
export type PasskeyQuestion = {
  readonly challengeToken: string;
  readonly options: ReturnType<typeof requestOptions>;
  readonly until: Date;
};

type Parts = { readonly settings: PublicSettings & SignInLimits; readonly proof: PasskeyProof };

/** Makes the only function that signs a user in with a passkey alone. */
export const passkeySignIn = (deps: Deps, { settings, proof }: Parts): PasskeySignIn => {
  const { log, sql, clock, secrets, failureRate } = deps;
  const party: RelyingParty = relyingParty(settings);
  const sessionOf = newSessions(deps);
  const confirm = confirmedSessions(deps);
  const isSpent = spentRead(sql);
  const guesses = failureRate("passkeys of sign-ins", settings.signInFailuresPerAddressPerMinute);

  return {
    isPossible: hasName(party),

    start(seconds) {
      const challenge = randomBytes(challengeBytes);
      const until = new Date(clock().getTime() + seconds * 1000);
      const challengeToken = sealedChallenge(secrets.keyring, { challenge, until });
      return { challengeToken, options: requestOptions({ challenge, party }), until };
    },

    async complete({ challengeToken, credential, call }, kind) {
      const uncount = countNetwork(guesses, call);
      const { challenge, until } = openedChallenge(secrets.keyring, challengeToken);
      if (until <= clock()) throw challengeOver("challengeToken");
      if (await isSpent({ challenge: challenge.toString("hex") }, call.signal)) {
        await proof.replayed(credential, call);
        throw challengeOver("challengeToken");
      }
      const factor = await proof.check(credential, { challenge, field: "credential" }, call);
      uncount();
      const { owner, userId: id } = factor.row;
      const user = { owner, id, since: factor.since };
      const made = sessionOf(user, { amr: factor.amr }, kind);
      await log.append(call, [usedFact(factor, made, { challenge, until }), made.created], made.answer);
      await confirm(made, { ...user, isComplete: true }, call);
      return made.answer;
    },
  };
};

export const passkeySessions = (options: SessionLifetime & { readonly passkeys: PasskeySignIn }) =>
  ({
    async startPasskeySession() {
      const { challengeToken, options: asked, until } = options.passkeys.start(passkeySeconds);
      return { challengeToken, options: asked, expirationDate: timestampFromDate(until) };
    },

    createPasskeySession: ({ challengeToken, credential = {} }, call) =>
      options.passkeys.complete({ challengeToken, credential, call }, callSession(options)),
  }) satisfies Partial<ServiceImpl<typeof SessionService>>;

const challengeBytes = 32;
const context = "passkey challenge";

type Challenge = { readonly challenge: Buffer; readonly until: Date };

/** Seals a challenge with its expiry, so that an unanswered one leaves nothing in the database. */
function sealedChallenge(keyring: Keyring, { challenge, until }: Challenge): string {
  const end = Buffer.alloc(8);
  end.writeBigUInt64BE(BigInt(until.getTime()));
  return Buffer.from(keyring.seal(Buffer.concat([challenge, end]), context)).toString("base64url");
}

function openedChallenge(keyring: Keyring, token: string): Challenge {
  try {
    const bytes = Buffer.from(keyring.open(Buffer.from(token, "base64url"), context));
    const challenge = bytes.subarray(0, challengeBytes);
    return { challenge, until: new Date(Number(bytes.readBigUInt64BE(challengeBytes))) };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw challengeOver("challengeToken");
  }
}

const spentRead = (sql: Sql) =>
  loadOne<{ challenge: string }, object>(sql, {
    asked: "challenge text",
    select: `select n from asked join spent_challenges c on c.challenge = decode(asked.challenge, 'hex')`,
  });
