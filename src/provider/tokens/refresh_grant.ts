import { triedAgain } from "../../guards/lock_retry.ts";
import { OauthError } from "../http/oauth_error.ts";
import { wordsOf } from "../http/parameters.ts";
import { later } from "../http/settings.ts";
import type { TokenQuestion } from "../request/client_authentication.ts";
import { resourceFor } from "../request/target.ts";
import { declaredRead } from "./declared_claims.ts";
import {
  type Exchange,
  type ExchangeParts,
  newRefresh,
  notInForce,
  ofClient,
  type Presented,
  refuseEnded,
  reused,
  signedWhile,
  type TokenResponse,
  tokenResponse,
} from "./grant_exchange.ts";
import { clientAndRefresh, type FoundRefresh } from "./grant_read.ts";
import { lifetimesOf } from "./lifetimes.ts";
import { nextRefreshToken } from "./refresh_token.ts";
import { SignOnEnd } from "./sign_on.ts";
import type { SignOn } from "./subject.ts";
import { refuseOtherRefreshKey } from "./token_key.ts";
import { newAccessToken, openSuccessor, replaceRefresh, sealSuccessor, writeAccessToken } from "./tokens.ts";

const graceMs = 10_000;

/** The refresh token grant (RFC 6749, 6). */
export const refreshGrant: Exchange<FoundRefresh> = {
  type: "refresh_token",
  parameter: "refresh_token",
  open: (parts) => ({ read: clientAndRefresh(parts.deps.sql), exchange: refreshing(parts) }),
};

function refreshing({ deps, settings, maker }: ExchangeParts) {
  const { sql, clock, secrets } = deps;
  const [refreshOf, withDeclared] = [clientAndRefresh(sql), declaredRead(sql)];

  return async (request: TokenQuestion, presented: Presented<FoundRefresh>): Promise<TokenResponse> => {
    const { form, proof, call } = request;
    const { client, value: old, key, now } = presented;
    const { jkt } = key;
    const found = ofClient(presented);
    // Checked before it counts as reused: somebody who stole a token without its key has stolen nothing, and ends nothing.
    refuseOtherRefreshKey(client, found.jkt, jkt);
    await key.useProof();
    if (isTooLate(found)) throw await reused(deps, { end: found.end, call, reason: SignOnEnd.REFRESH_TOKEN_REUSED });
    const signOn = rightRefresh(found);
    const resource = resourceFor(client, signOn, { form, issuer: maker.issuer(), jkt });
    const of = { client, signOn: { ...(await withDeclared(client, signOn)), nonce: null }, now, resource, jkt };
    const lifetimes = lifetimesOf(client, settings);
    const end = later(new Date(signOn.createdAt * 1000), lifetimes.refresh);
    if (end <= now) throw notInForce();
    const access = await newAccessToken(maker, of, narrowed(signOn.scope, form.get("scope")));
    const successor = newRefresh(lifetimes, nextRefreshToken(old), { now, end });
    const sealed = sealSuccessor(secrets.keyring, old, successor.text);
    const replaced = () => replaceRefresh(sql, { old, successor, sealed }, access);
    const write = async () => found.replacedMs === null && triedAgain(replaced, call).catch(refuseEnded);
    const { idToken, isWritten } = await signedWhile(maker, of, { write, access });
    if (isWritten) return tokenResponse({ access, refresh: successor.text, idToken });
    const written = () => writeAccessToken(sql, signOn.signOnId, access);
    if (!(await triedAgain(written, call).catch(refuseEnded))) throw notInForce();
    return tokenResponse({ access, refresh: await successorOf(proof.clientId, old), idToken });
  };

  /** The successor that another use of a refresh token created a moment ago. */
  async function successorOf(clientId: string, old: string): Promise<string> {
    const { found } = (await refreshOf(clientId, old, clock())) ?? {};
    if (!found?.successor) throw notInForce();
    return openSuccessor(secrets.keyring, old, found.successor);
  }
}

const isTooLate = ({ replacedMs, isSwept }: FoundRefresh): boolean =>
  isSwept || (replacedMs !== null && replacedMs > graceMs);

function rightRefresh({ isExpired, signOn }: FoundRefresh): SignOn {
  if (isExpired || !signOn) throw notInForce();
  return signOn;
}

/** RFC 6749, 6: a refresh may ask for less than was granted, but not for more. */
function narrowed(granted: string, requested: string | undefined): string {
  if (requested === undefined) return granted;
  const words = [...new Set(wordsOf(requested))];
  if (words.length === 0 || words.some((word) => !wordsOf(granted).includes(word)))
    throw new OauthError("invalid_scope", "scope asks for more than was granted");
  return words.join(" ");
}
