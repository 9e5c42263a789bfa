import type { Call } from "../../deps.ts";
import { lostRace } from "../../events/log.ts";
import { triedAgain } from "../../guards/lock_retry.ts";
import type { OauthError } from "../http/oauth_error.ts";
import { wordsOf } from "../http/parameters.ts";
import { later } from "../http/settings.ts";
import type { Client } from "../request/client.ts";
import type { TokenQuestion } from "../request/client_authentication.ts";
import { isRegisteredFor } from "../request/grant_type.ts";
import { resourceFor } from "../request/target.ts";
import { declaredRead } from "./declared_claims.ts";
import {
  type ExchangeParts,
  newRefresh,
  notInForce,
  refuseEnded,
  reused,
  signedWhile,
  type TokenResponse,
  tokenResponse,
} from "./grant_exchange.ts";
import type { FoundCode } from "./grant_read.ts";
import { lifetimesOf } from "./lifetimes.ts";
import { refreshGrant } from "./refresh_grant.ts";
import { firstRefreshToken } from "./refresh_token.ts";
import { endSignOn, SignOnEnd } from "./sign_on.ts";
import type { SignOn } from "./subject.ts";
import { type ProvenKey, refreshKeyOf } from "./token_key.ts";
import { type CodeIn, codeRedemption, isUsed, newAccessToken } from "./tokens.ts";

/** A code that its client may redeem. */
export type Redeemable = {
  readonly client: Client;
  readonly found: Pick<FoundCode, "isUsed" | "end" | "signOn">;
  readonly of: Pick<CodeIn, "code" | "table">;
  readonly key: ProvenKey;
};

/** Makes the exchange of a code for a sign-in's first tokens. If the code is presented again, everything issued for it ends. */
export function redemption({ deps, settings, maker }: ExchangeParts) {
  const { sql, clock } = deps;
  const [redeemCode, withDeclared] = [codeRedemption(sql), declaredRead(sql)];

  return async ({ form, call }: TokenQuestion, { client, found, of, key }: Redeemable): Promise<TokenResponse> => {
    const now = clock();
    if (found.isUsed) {
      // Somebody who overheard a request and sends it again has no new proof.
      await key.useProof();
      throw await usedAgain(found, call);
    }
    if (!found.signOn) throw notInForce();
    const { jkt } = key;
    const resource = resourceFor(client, found.signOn, { form, issuer: maker.issuer(), jkt });
    await key.useProof();
    const signOn = await withDeclared(client, found.signOn);
    const access = await newAccessToken(maker, { client, signOn, now, resource, jkt }, signOn.scope);
    const lifetimes = lifetimesOf(client, settings);
    const refreshEnd = later(now, lifetimes.refresh);
    const refresh = isRefreshable(client, signOn)
      ? newRefresh(lifetimes, firstRefreshToken(), { now, end: refreshEnd })
      : undefined;
    const end = refresh && refreshEnd > access.expirationDate ? refreshEnd : access.expirationDate;
    const tokens = { now, access, refresh, refreshKey: refresh && refreshKeyOf(client, jkt), end };
    const redeem = () => redeemCode({ ...of, sessionId: found.end.sessionId }, tokens);
    const write = async () => {
      const done = await triedAgain(redeem, call).catch(refuseEnded);
      // One that cannot be ended now is ended at the next sign-in, and this one goes on.
      for (const one of done?.surplus ?? [])
        await endSignOn(deps, call, { ...found.end, ...one }, SignOnEnd.TOO_MANY).catch(lostRace);
      return done !== undefined;
    };
    const { idToken, isWritten } = await signedWhile(maker, { client, signOn, now }, { write, access });
    if (!isWritten) throw await late(found, call, of);
    return tokenResponse({ access, refresh: refresh?.text, idToken });
  };

  /** The error for a code that was used, or whose sign-in ended, after it was read. */
  async function late(found: Redeemable["found"], call: Call, of: Redeemable["of"]): Promise<OauthError> {
    return (await isUsed(sql, of)) ? usedAgain(found, call) : notInForce();
  }

  function usedAgain({ end }: Redeemable["found"], call: Call): Promise<OauthError> {
    return reused(deps, { end, call, reason: SignOnEnd.CODE_REUSED });
  }
}

const isRefreshable = (client: Client, { scope }: SignOn): boolean =>
  isRegisteredFor(client, refreshGrant.type) && wordsOf(scope).includes("offline_access");
