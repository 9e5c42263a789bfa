import { createHash, randomUUID } from "node:crypto";
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

/** A key that tokens are bound to: its private half, its public one, and the thumbprint of this. */
export type DpopKey = Readonly<{ alg: string; key: CryptoKey; jwk: JWK; jkt: string }>;

/** Makes a key for proofs. */
export async function dpopKey(alg = "ES256"): Promise<DpopKey> {
  const { publicKey, privateKey: key } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { alg, key, jwk, jkt: await calculateJwkThumbprint(jwk) };
}

/** What a proof says that is not as it should be. */
export type Changed = { readonly claims?: object; readonly header?: object; readonly by?: CryptoKey | Uint8Array };

/** Signs a proof for a request (RFC 9449, 4.2). */
export function proofOf(
  { alg, key, jwk }: DpopKey,
  [htm, htu]: readonly [method: string, url: string],
  { claims = {}, header = {}, by = key }: Changed = {},
): Promise<string> {
  const all = { htm, htu, iat: Math.floor(Date.now() / 1000), jti: randomUUID(), ...claims };
  return new SignJWT(all).setProtectedHeader({ typ: "dpop+jwt", alg, jwk, ...header }).sign(by);
}

/** The claim `ath` of a proof for a request with an access token. */
export const ath = (token: string): string => createHash("sha256").update(token).digest("base64url");
