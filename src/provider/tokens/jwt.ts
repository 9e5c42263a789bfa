import { createLocalJWKSet, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { type Algorithm, algorithms, type SigningKeys } from "./signing_keys.ts";

/** The kinds of our JWTs, as `typ` names them: RFC 9068 for access tokens, OpenID Connect Back-Channel Logout 1.0 for logout tokens. */
export type TokenType = "JWT" | "at+jwt" | "logout+jwt";

/** A JWT that is to be signed. */
export type UnsignedJwt = {
  readonly type: TokenType;
  readonly algorithm: Algorithm;
  readonly claims: JWTPayload;
};

/** Signs a JWT; the signature is made on the pool of threads. */
export async function signJwt(keys: SigningKeys, { type, algorithm, claims }: UnsignedJwt): Promise<string> {
  const { kid, key } = await keys.signer(algorithm);
  return new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid, typ: type }).sign(key);
}

/** The options of a check: the issuer, the kind, and a time at which the token counts as unexpired. */
export type JwtCheck = { readonly issuer: string; readonly type: TokenType; readonly at: Date };

/** Returns the claims of a JWT of ours; undefined for anything else. */
export async function claimsOfOwn(keys: SigningKeys, token: string, check: JwtCheck): Promise<JWTPayload | undefined> {
  const published = createLocalJWKSet({ keys: [...(await keys.published())] });
  const { issuer, type, at } = check;
  const verified = await jwtVerify(token, published, {
    issuer,
    algorithms: [...algorithms],
    typ: type,
    currentDate: at,
  }).catch(() => undefined);
  return verified?.payload;
}
