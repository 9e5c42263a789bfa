import { randomBytes } from "node:crypto";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { SessionService } from "../../gen/postern/v1/session_pb.ts";
import type { Deps } from "../deps.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { passkeySeconds, relyingParty, requestOptions } from "../security/passkey.ts";
import { type Keyring, SealBroken } from "../security/seal.ts";
import { type FactorSignInSettings, usedFact } from "./complete_session.ts";
import { countNetwork } from "./network_rate.ts";
import { callSession, confirmedSessions, newSessions } from "./new_session.ts";
import { provenPasskey } from "./passkey_proof.ts";
import { challengeOver } from "./pending_session.ts";

/** Signing in by a passkey alone. */
export const passkeySessions = (deps: Deps, settings: FactorSignInSettings) => {
  const { log, sql, clock, secrets } = deps;
  const party = relyingParty(settings);
  const provenBy = provenPasskey(deps, party);
  const sessionOf = newSessions(deps);
  const confirm = confirmedSessions(deps);
  const isSpent = spentRead(sql);
  const guesses = deps.failureRate("passkeys of sign-ins", settings.signInFailuresPerAddressPerMinute);

  return {
    async startPasskeySession() {
      const challenge = randomBytes(challengeBytes);
      const until = new Date(clock().getTime() + passkeySeconds * 1000);
      const challengeToken = sealedChallenge(secrets.keyring, { challenge, until });
      const options = requestOptions({ challenge, party });
      return { challengeToken, options, expirationDate: timestampFromDate(until) };
    },

    async createPasskeySession({ challengeToken, credential = {} }, call) {
      const uncount = countNetwork(guesses, call);
      const { challenge, until } = openedChallenge(secrets.keyring, challengeToken);
      if (until <= clock() || (await isSpent({ challenge: challenge.toString("hex") }, call.signal)))
        throw challengeOver("challengeToken");
      const factor = await provenBy(credential, { challenge, field: "credential" }, call.signal);
      uncount();
      const { owner, userId: id } = factor.row;
      const user = { owner, id, since: factor.since };
      const made = sessionOf(user, { amr: factor.amr }, callSession(settings));
      await log.append(call, [usedFact(factor, made, { challenge, until }), made.created], made.answer);
      await confirm(made, { ...user, isComplete: true }, call);
      return made.answer;
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>;
};

const challengeBytes = 32;
const context = "passkey challenge";

type Challenge = { readonly challenge: Buffer; readonly until: Date };

/** Seals a challenge with its end, so that one that nobody answers leaves nothing behind. */
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
