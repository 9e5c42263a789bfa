import type { Deps } from "../../deps.ts";
import { OauthError } from "../http/oauth_error.ts";
import { paths } from "../http/paths.ts";
import { type Client, isPublic } from "../request/client.ts";
import type { TokenQuestion } from "../request/client_authentication.ts";
import { dpopProofs } from "../request/dpop_proof.ts";

/** The thumbprint of the key that tokens are bound to; undefined for bearer tokens. */
export type TokenKey = string | undefined;

/**
 * The key of a request for tokens. Use its proof up last, when nothing else refuses the request: each is stored until it expires, and
 * anybody can sign any number of them. But use it up before a code or token that was already used ends its sign-in.
 */
export type ProvenKey = { readonly jkt: TokenKey; readonly useProof: () => Promise<unknown> };

/** The key of a request without a proof. */
export const noKey: ProvenKey = { jkt: undefined, useProof: async () => {} };

/** Makes the function that finds the key of a request for tokens. */
export function tokenKeys(deps: Pick<Deps, "sql" | "clock">, issuer: () => string) {
  const proofs = dpopProofs(deps, issuer);
  return async ({ dpop }: Pick<TokenQuestion, "dpop">, client?: Client): Promise<ProvenKey> => {
    if (dpop !== undefined) {
      const proof = await proofs.checked({ proof: dpop, method: "POST", path: paths.token });
      return { jkt: proof.jkt, useProof: () => proofs.used(proof) };
    }
    if (client?.oidc.dpopBoundAccessTokens) throw noProof();
    return noKey;
  };
}

const noProof = () =>
  new OauthError("invalid_dpop_proof", "the application must prove its key with each request for tokens");

/**
 * The binding of a code if its client's document demands bound tokens but the request did not name the key: documents are not read again
 * for the exchange. No thumbprint equals it.
 */
const anyKey = "any";

/** The key that a code is bound to: the one that its request named or, for a client whose document demands one, any. */
export const codeKeyOf = ({ oidc, bringsDocument }: Client, named: string | undefined): string | undefined =>
  named ?? (bringsDocument && oidc.dpopBoundAccessTokens ? anyKey : undefined);

/** Fails if a code or refresh token is bound to a key other than that of its request. */
export function refuseOtherKey(bound: string | null, jkt: TokenKey): void {
  if (bound === anyKey && jkt === undefined) throw noProof();
  if (bound !== null && bound !== anyKey && bound !== jkt)
    throw new OauthError("invalid_grant", "it is bound to a key, of which the request has no DPoP proof");
}

/** The key that the refresh tokens of a sign-in are bound to, if the client has no other way to authenticate (RFC 9449, 5). */
export const refreshKeyOf = (client: Client, jkt: TokenKey): TokenKey => (isPublic(client) ? jkt : undefined);

/**
 * Fails if the refresh tokens of a public client's sign-in are bound to a key other than the request's, or only one of them has a key. They
 * get no key later: it could be a thief's, whose use of the token would then pass for the owner's.
 */
export function refuseOtherRefreshKey(client: Client, bound: string | null, jkt: TokenKey): void {
  if (!isPublic(client)) return;
  refuseOtherKey(bound, jkt);
  if (bound === null && jkt !== undefined)
    throw new OauthError("invalid_grant", "it is bound to no key: begin with a DPoP proof for the code");
}

/** The type of an access token in responses (RFC 6749, 7.1). */
export const tokenTypeOf = (jkt: string | null | undefined): "Bearer" | "DPoP" => (jkt == null ? "Bearer" : "DPoP");

/** The claim that names the key of an access token (RFC 7800; RFC 9449, 6). */
export const keyClaim = (jkt: string | null | undefined) => (jkt == null ? {} : { cnf: { jkt } });
