import { decodeJwt, importJWK, type JWK, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose";
import { OidcAuthMethodType } from "../../../gen/postern/v1/application_pb.ts";
import { type Call, type Deps, keys } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { sameBytes } from "../../security/compare.ts";
import { hashToken } from "../../security/token.ts";
import { ClientRefused, OauthError } from "../http/oauth_error.ts";
import { type Parameters, required } from "../http/parameters.ts";
import { noteClient } from "../pages/request_notes.ts";
import type { Client } from "./client.ts";
import type { ClientKeys } from "./client_keys.ts";

/** A client's credentials, before they are checked. */
export type ClientProof = { readonly clientId: string } & (
  | { readonly method: "basic" | "post"; readonly secret: string }
  | { readonly method: "assertion"; readonly assertion: string }
  | { readonly method: "none" }
);

const longestId = 200;
const longestSecret = 200;
const longestAssertion = 8_000;
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Reads a client's credentials; a request may use only one method (RFC 6749, 2.3). */
export function proofIn(authorization: string | undefined, form: Parameters): ClientProof {
  const assertion = form.get("client_assertion");
  const secret = form.get("client_secret");
  const ways = [authorization, assertion, secret].filter((way) => way !== undefined);
  if (ways.length > 1) throw new OauthError("invalid_request", "the client authenticates in more than one way");
  if (authorization !== undefined) return basicIn(authorization, form);
  if (assertion !== undefined) return assertionIn(assertion, form);
  const clientId = required(form, "client_id", longestId);
  return secret === undefined
    ? { method: "none", clientId }
    : { method: "post", clientId, secret: required(form, "client_secret", longestSecret) };
}

function basicIn(authorization: string, form: Parameters): ClientProof {
  const encoded = /^basic +([a-z0-9+/]+={0,2})$/i.exec(authorization.slice(0, 2_000))?.[1] ?? "";
  const [, id = "", text = ""] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8")) ?? [];
  const [clientId, secret] = [decoded(id), decoded(text)];
  const named = form.get("client_id");
  if (!clientId || secret === undefined || clientId.length > longestId || (named !== undefined && named !== clientId))
    throw new OauthError("invalid_client", "the authorization header is no client id and secret");
  return { method: "basic", clientId, secret };
}

/**
 * RFC 6749, 2.3.1: both values are form-encoded within the header. Clients that do not encode are accepted if their values are the same
 * either way.
 */
function decoded(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text.replaceAll("+", "%20"));
    return value.includes("\0") ? undefined : value;
  } catch {
    return undefined;
  }
}

function assertionIn(assertion: string, form: Parameters): ClientProof {
  if (form.get("client_assertion_type") !== assertionType)
    throw new OauthError("invalid_request", `client_assertion_type must be ${assertionType}`);
  required(form, "client_assertion", longestAssertion);
  const clientId = subjectOf(assertion);
  const named = form.get("client_id");
  if (!clientId || clientId.length > longestId || (named !== undefined && named !== clientId))
    throw new OauthError("invalid_client", "the assertion names no client, or another than client_id");
  return { method: "assertion", clientId, assertion };
}

function subjectOf(assertion: string): string | undefined {
  try {
    const { sub } = decodeJwt(assertion);
    // JSON can contain a lone surrogate or a NUL, but no text in the database can.
    return typeof sub === "string" && sub.isWellFormed() && !sub.includes("\0") ? sub : undefined;
  } catch {
    return undefined;
  }
}

const methodOf: Readonly<Record<number, ClientProof["method"]>> = {
  [OidcAuthMethodType.BASIC]: "basic",
  [OidcAuthMethodType.POST]: "post",
  [OidcAuthMethodType.NONE]: "none",
  [OidcAuthMethodType.PRIVATE_KEY_JWT]: "assertion",
} satisfies Record<OidcAuthMethodType, ClientProof["method"]>;

/** A client's credentials, and the call that carries them; `onClient` receives the client that they name, before they are checked. */
export type ClientClaim = {
  readonly proof: ClientProof;
  readonly call: Call;
  readonly onClient: (client: Client) => void;
};

/** A client's request for tokens or about one: its form, the client's credentials, and its call. */
export type TokenQuestion = ClientClaim & { readonly form: Parameters };

/** Returns the authenticated client, or fails. */
export type Authenticate = (client: Client | undefined, claim: ClientClaim) => Promise<Client>;

/** Makes the authentication of clients, only by the method that each is registered for. */
export function clientAuthentication(
  { sql, clock }: Pick<Deps, "sql" | "clock">,
  { issuer, keysOf }: { readonly issuer: () => string; readonly keysOf: ClientKeys },
): Authenticate {
  return async (client, { proof, call, onClient }) => {
    if (client) onClient(client);
    if (!client?.active) throw new ClientRefused();
    const registered = methodOf[client.oidc.authMethodType];
    if (registered !== proof.method) throw new ClientRefused(mismatch(client, { registered, used: proof.method }));
    if (!(await isRight(client, proof))) throw new ClientRefused();
    noteClient(call.values, client);
    if (proof.method !== "none") call.values.set(keys.clientOwner, client.owner);
    return client;
  };

  async function isRight(client: Client, proof: ClientProof): Promise<boolean> {
    switch (proof.method) {
      case "none":
        return true;
      case "basic":
      case "post":
        return isSecret(client, proof.secret);
      case "assertion":
        return isAssertion(client, proof.assertion);
    }
  }

  async function isAssertion(client: Client, assertion: string): Promise<boolean> {
    const claims = await assertedClaims(client, assertion, { issuer: issuer(), now: clock(), keysOf });
    if (typeof claims?.jti !== "string" || claims.exp === undefined) return false;
    return isFirst(sql, { appId: client.appId, jti: claims.jti, expirationDate: new Date(claims.exp * 1000) });
  }
}

type Methods = { readonly registered: ClientProof["method"] | undefined; readonly used: ClientProof["method"] };

/** Most libraries choose a method themselves, so the error's log line says which one, and what to register. */
const mismatch = ({ clientId }: Client, { registered, used }: Methods): string =>
  `${clientId} is registered for ${registered ? named[registered] : "no method"}, and used ${named[used]}`;

const named: Readonly<Record<ClientProof["method"], string>> = {
  basic: "BASIC (client_secret_basic)",
  post: "POST (client_secret_post)",
  none: "NONE (none)",
  assertion: "PRIVATE_KEY_JWT (private_key_jwt)",
};

function isSecret({ secrets }: Client, secret: string): boolean {
  const hash = hashToken(secret);
  const matches = secrets.map((kept) => sameBytes(Buffer.from(kept, "hex"), hash));
  return matches.includes(true);
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

/** The claims of an assertion signed for us with one of the client's keys (RFC 7523, 3); undefined if it is invalid. */
async function assertedClaims(
  client: Client,
  assertion: string,
  { issuer, now, keysOf }: { issuer: string; now: Date; keysOf: ClientKeys },
): Promise<JWTPayload | undefined> {
  const audiences = [issuer, `${issuer}/oauth/token`];
  const verified = await jwtVerify(assertion, async ({ kid, alg }) => keyOf(await keysOf(client, kid), kid, alg), {
    algorithms: [...assertionAlgorithms],
    issuer: client.clientId,
    subject: client.clientId,
    audience: audiences,
    requiredClaims: ["exp", "jti"],
    currentDate: now,
    clockTolerance: toleranceSeconds,
  }).catch(() => undefined);
  if (!verified || !isForNobodyElse(verified, audiences)) return undefined;
  const { exp = Number.POSITIVE_INFINITY, iat = 0 } = verified.payload;
  const seconds = now.getTime() / 1000;
  return exp <= seconds + longestLifeSeconds && iat <= seconds + aheadSeconds ? verified.payload : undefined;
}

/** Whether an assertion names only us, and is not another kind of JWT that the client signs, meant for somebody else. */
function isForNobodyElse(
  { payload: { aud }, protectedHeader: { typ } }: JWTVerifyResult,
  audiences: readonly string[],
) {
  const type = typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : typ;
  return assertionTypes.includes(type) && [aud].flat().every((one) => one !== undefined && audiences.includes(one));
}

/** The key that an assertion names, or the client's only one. */
function keyOf(jwks: readonly JWK[], kid: string | undefined, alg: string) {
  const [named, ...others] = kid === undefined ? jwks : jwks.filter((jwk) => jwk.kid === kid);
  if (!named || others.length > 0 || (named.alg !== undefined && named.alg !== alg)) throw new Error("no such key");
  const { kty, n, e, crv, x, y } = named;
  const members = Object.entries({ kty, n, e, crv, x, y }).filter(([, value]) => value !== undefined);
  return importJWK(Object.fromEntries(members) as JWK, alg);
}

type Assertion = { readonly appId: string; readonly jti: string; readonly expirationDate: Date };

/** Whether an assertion is used for the first time, on any node. */
async function isFirst(sql: Sql, { appId, jti, expirationDate }: Assertion): Promise<boolean> {
  // Kept for as long as the clock tolerance would accept it.
  const until = new Date(expirationDate.getTime() + 2 * toleranceSeconds * 1000);
  const made = await sql`
    insert into client_assertions (app_id, hash, expiration_date) values (${appId}, ${hashToken(jti)}, ${until})
    on conflict do nothing`;
  return made.count === 1;
}
