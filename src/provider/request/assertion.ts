import { decodeJwt, importJWK, type JWK, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose";
import type { Deps } from "../../deps.ts";
import { later } from "../http/settings.ts";
import { isFirstUse } from "./single_use.ts";

/** The maximum length of an assertion. */
export const longestAssertion = 8_000;

/** The client that an assertion claims to be from, before any check. */
export function subjectOf(assertion: string): string | undefined {
  try {
    const { sub } = decodeJwt(assertion);
    // JSON can contain a lone surrogate or a NUL, but no text in the database can.
    return typeof sub === "string" && sub.isWellFormed() && !sub.includes("\0") ? sub : undefined;
  } catch {
    return undefined;
  }
}

/** The signature algorithms accepted for client assertions. */
export const assertionAlgorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA"],
] as const;

// A client's clock may be a minute fast; libraries make assertions valid for an hour.
const aheadSeconds = 60;
const longestLifeSeconds = 3_600 + aheadSeconds;
const toleranceSeconds = 5;
const assertionTypes: readonly unknown[] = [undefined, "jwt", "client-authentication+jwt"];

/** The signer of assertions: the client id, its keys, and the name under which the assertions' identifiers are stored. */
export type Asserting = {
  readonly by: string;
  readonly clientId: string;
  readonly keysOf: (kid: string | undefined) => Promise<readonly JWK[]>;
};

/**
 * The identity by which an assertion is counted. As a client's credentials, it needs an identifier (OpenID Connect Core 1.0, 9). As a grant
 * it may lack one (RFC 7523, 3), and then its content identifies it; a signature would not, because several may be valid.
 */
export type AssertionNeeds = "a jti" | "nothing";

/** The claims of an assertion that was accepted. */
export type Asserted = { readonly claims: JWTPayload };

/** Makes the check of assertions that clients sign about themselves for us (RFC 7523, 3), each of which counts once across all nodes. */
export function acceptedAssertions({ sql, clock }: Pick<Deps, "sql" | "clock">, issuer: () => string) {
  return async (of: Asserting, assertion: string, needs: AssertionNeeds): Promise<Asserted | undefined> => {
    const claims = await assertedClaims(of, assertion, { issuer: issuer(), now: clock() });
    const id = claims && identifierOf(claims, assertion, needs);
    if (!claims || id === undefined || claims.exp === undefined) return undefined;
    // Kept for as long as the clock tolerance would accept it.
    const until = later(new Date(claims.exp * 1000), 2 * toleranceSeconds);
    const isNew = await isFirstUse(sql, { by: of.by, id, until });
    return isNew ? { claims } : undefined;
  };
}

function identifierOf({ jti }: JWTPayload, assertion: string, needs: AssertionNeeds): string | undefined {
  if (jti === undefined && needs === "nothing") return assertion.slice(0, assertion.lastIndexOf("."));
  return typeof jti === "string" ? jti : undefined;
}

/** The claims of an assertion signed for us with one of the client's keys (RFC 7523, 3); undefined if it is invalid. */
async function assertedClaims(
  { clientId, keysOf }: Asserting,
  assertion: string,
  { issuer, now }: { issuer: string; now: Date },
): Promise<JWTPayload | undefined> {
  const audiences = [issuer, `${issuer}/oauth/token`];
  const verified = await jwtVerify(assertion, async ({ kid, alg }) => keyOf(await keysOf(kid), kid, alg), {
    algorithms: [...assertionAlgorithms],
    issuer: clientId,
    subject: clientId,
    audience: audiences,
    requiredClaims: ["exp"],
    currentDate: now,
    clockTolerance: toleranceSeconds,
  }).catch(() => undefined);
  if (!verified || !isForNobodyElse(verified)) return undefined;
  const { exp = Number.POSITIVE_INFINITY, iat = 0 } = verified.payload;
  const seconds = now.getTime() / 1000;
  return exp <= seconds + longestLifeSeconds && iat <= seconds + aheadSeconds ? verified.payload : undefined;
}

/** Whether an assertion names one audience, and is not another kind of JWT that the client signs, meant for somebody else. */
function isForNobodyElse({ payload: { aud }, protectedHeader: { typ } }: JWTVerifyResult): boolean {
  const type = typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : typ;
  return assertionTypes.includes(type) && [aud].flat().length === 1;
}

/** The key that an assertion names, or the client's only one. */
function keyOf(jwks: readonly JWK[], kid: string | undefined, alg: string) {
  const [named, ...others] = kid === undefined ? jwks : jwks.filter((jwk) => jwk.kid === kid);
  if (!named || others.length > 0 || (named.alg !== undefined && named.alg !== alg)) throw new Error("no such key");
  const { kty, n, e, crv, x, y } = named;
  const members = Object.entries({ kty, n, e, crv, x, y }).filter(([, value]) => value !== undefined);
  return importJWK(Object.fromEntries(members) as JWK, alg);
}
