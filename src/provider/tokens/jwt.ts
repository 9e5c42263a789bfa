import { createLocalJWKSet, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { type Algorithm, algorithms, type SigningKeys } from "./signing_keys.ts";

/** The types of our JWTs in `typ`: RFC 9068 for access tokens, OpenID Connect Back-Channel Logout 1.0 for logout tokens. */
export type TokenType = "JWT" | "at+jwt" | "logout+jwt";

export type UnsignedJwt = {
  readonly type: TokenType;
  readonly algorithm: Algorithm;
  readonly claims: JWTPayload;
};

/** Signs a JWT; WebCrypto uses the thread pool for that. */
export async function signJwt(keys: SigningKeys, { type, algorithm, claims }: UnsignedJwt): Promise<string> {
  const { kid, key } = await keys.signer(algorithm);
  return new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid, typ: type }).sign(key);
}

/** The checks of a token: the issuer, the type, and a time at which it must not have expired. */
export type JwtCheck = { readonly issuer: string; readonly type: TokenType; readonly at: Date };

/** The claims of a JWT that we issued; undefined for anything else. */
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
