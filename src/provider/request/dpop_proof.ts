import { createHash } from "node:crypto";
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from "jose";
import type { Deps } from "../../deps.ts";
import { OauthError } from "../http/oauth_error.ts";
import { later } from "../http/settings.ts";
import { isFirstUse } from "./single_use.ts";

/** The algorithms of proofs. Ed25519 is the newer name of EdDSA with this curve (RFC 9864), and the one that openid-client uses. */
export const dpopAlgorithms = ["ES256", "EdDSA", "Ed25519"] as const;

const longestProof = 4_000;
const longestId = 200;
/** How far the time of a proof may be from ours. Each counts once across all nodes, so a nonce would add nothing (RFC 9449, 11.1). */
const currentSeconds = 60;

/** A DPoP proof as it was sent, and the request that it must be for. */
export type SentProof = {
  readonly proof: string;
  readonly method: string;
  readonly path: string;
  /** The access token that the request presents. */
  readonly accessToken?: string;
};

/** A valid proof, by the thumbprint of its key (RFC 7638), before it is known whether it was used. */
export type CheckedProof = { readonly jkt: string; readonly id: string; readonly until: Date };

/** Makes the check of DPoP proofs (RFC 9449, 4.3) and their use. */
export function dpopProofs({ sql, clock }: Pick<Deps, "sql" | "clock">, issuer: () => string) {
  return {
    async checked({ proof, method, path, accessToken }: SentProof): Promise<CheckedProof> {
      const now = clock();
      const { payload, jwk } = await signed(proof, now);
      if (payload.htm !== method || !isUrl(payload.htu, issuer() + path))
        throw invalid("htm or htu is not that of the request");
      if (accessToken !== undefined && payload.ath !== hashOf(accessToken))
        throw invalid("ath is not the hash of the access token");
      return { jkt: await calculateJwkThumbprint(jwk), id: idOf(payload), until: endOf(payload, now) };
    },

    /** Uses a proof up, on all nodes; returns its key. */
    async used({ jkt, ...proof }: CheckedProof): Promise<string> {
      if (!(await isFirstUse(sql, { by: `dpop:${jkt}`, ...proof }))) throw invalid("it was used before");
      return jkt;
    },
  };
}

export type DpopProofs = ReturnType<typeof dpopProofs>;

const invalid = (problem: string) => new OauthError("invalid_dpop_proof", `the DPoP proof is not accepted: ${problem}`);

/** The claims of a proof, verified with the public key in its header. */
async function signed(proof: string, now: Date): Promise<{ readonly payload: JWTPayload; readonly jwk: JWK }> {
  if (proof.length > longestProof) throw invalid(`it is longer than ${longestProof} characters`);
  const verified = await jwtVerify(proof, EmbeddedJWK, {
    algorithms: [...dpopAlgorithms],
    typ: "dpop+jwt",
    currentDate: now,
    clockTolerance: currentSeconds,
  }).catch(() => undefined);
  const jwk = verified?.protectedHeader.jwk;
  if (!verified || !jwk)
    throw invalid(`it must be one dpop+jwt, signed with ${listed} by the public key in its header`);
  return { payload: verified.payload, jwk };
}

const listed = `${dpopAlgorithms.slice(0, -1).join(", ")} or ${dpopAlgorithms.at(-1)}`;

/** RFC 9449, 4.3: query and fragment do not matter; RFC 3986, 6.2.2 and 6.2.3 are how URLs are compared. */
function isUrl(given: unknown, expected: string): boolean {
  if (typeof given !== "string" || !URL.canParse(given)) return false;
  const { origin, pathname, username, password } = new URL(given);
  const url = new URL(expected);
  return origin === url.origin && pathname === url.pathname && username === "" && password === "";
}

const hashOf = (accessToken: string): string => createHash("sha256").update(accessToken).digest("base64url");

function idOf({ jti }: JWTPayload): string {
  if (typeof jti !== "string" || jti === "" || jti.length > longestId)
    throw invalid(`jti must be a text of up to ${longestId} characters`);
  return jti;
}

/** The time until which a proof is accepted; fails if that is over, or if the proof is from the future. */
function endOf({ iat }: JWTPayload, now: Date): Date {
  const seconds = now.getTime() / 1000;
  if (typeof iat !== "number" || !(Math.abs(iat - seconds) <= currentSeconds))
    throw invalid(`iat must be within ${currentSeconds} seconds of now`);
  return later(new Date(iat * 1000), currentSeconds);
}
