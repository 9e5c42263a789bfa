import { createHash, X509Certificate } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { changed, lost, type Note } from "./import_note.ts";
import { isNamed, type Named, text, textsOf } from "./json.ts";
import { claimsOf, type RealmClaims } from "./keycloak_claims.ts";

/** The line of an application, and notes on what it lacks; without a line, the client cannot be transferred. */
export type ClientLine = { readonly json?: JsonObject; readonly notes: readonly Note[] };

/** Converts a Keycloak client to a line for an import. */
export function clientOf(client: Named, project: string, realm: RealmClaims): ClientLine {
  const { protocol = "openid-connect" } = client;
  if (protocol !== "openid-connect") return { notes: [lost(`a client with the protocol ${text(protocol)}`)] };
  const attributes = isNamed(client.attributes) ? client.attributes : {};
  const authentication = authenticationOf(client, attributes);
  if (!authentication)
    return { notes: [lost(`a client that authenticates with ${text(client.clientAuthenticatorType)}`)] };
  const { method, key, notes } = authentication;
  const inactive = client.enabled === false ? { inactive: true } : {};
  const named = { project, name: text(client.name) || text(client.clientId), clientId: text(client.clientId) };
  if (client.bearerOnly === true) {
    const api = method === "NONE" ? "BASIC" : method;
    const apiApplication = {
      ...named,
      authMethodType: `API_AUTH_METHOD_TYPE_${api}`,
      ...secretOf(client, api),
      ...key,
    };
    return { json: { apiApplication, ...inactive }, notes };
  }
  const [redirects, logouts] = [urisOf(client, textsOf(client.redirectUris)), urisOf(client, logoutUrisOf(attributes))];
  const [lifespan, claims] = [lifespanOf(attributes), claimsOf(client, realm)];
  const application = {
    ...named,
    redirectUris: redirects.uris,
    postLogoutRedirectUris: logouts.uris,
    backChannelLogoutUri: text(attributes["backchannel.logout.url"]),
    // A plus sign stands for the origins of the redirect URIs, which are always allowed.
    additionalOrigins: textsOf(client.webOrigins).filter((origin) => /^https?:/.test(origin)),
    ...flowOf(client, attributes),
    ...lifespan.json,
    ...claims.json,
    authMethodType: `OIDC_AUTH_METHOD_TYPE_${method}`,
    ...secretOf(client, method),
    ...key,
  };
  const more = [...redirects.notes, ...logouts.notes, ...lifespan.notes, ...claims.notes];
  const flow = flowNotes(client, redirects.uris);
  return { json: { application, ...inactive }, notes: [...notes, ...more, ...flow] };
}

type Method = "NONE" | "BASIC" | "PRIVATE_KEY_JWT";
type Authentication = { readonly method: Method; readonly key: JsonObject; readonly notes: readonly Note[] };

/** The client's authentication method; undefined if we do not support it. */
function authenticationOf(client: Named, attributes: Named): Authentication | undefined {
  if (client.publicClient === true && client.bearerOnly !== true) return { method: "NONE", key: {}, notes: [] };
  switch (text(client.clientAuthenticatorType)) {
    case "":
    case "client-secret": {
      const notes = [changed("it authenticates with HTTP Basic only; use UpdateOidcApplication to change it to POST")];
      return { method: "BASIC", key: {}, notes: client.bearerOnly === true ? [] : notes };
    }
    case "client-jwt":
      return { method: "PRIVATE_KEY_JWT", ...keyOf(attributes) };
    default:
      return undefined;
  }
}

function keyOf(attributes: Named): Pick<Authentication, "key" | "notes"> {
  const uri = text(attributes["jwks.url"]);
  if (text(attributes["use.jwks.url"]) === "true" && uri) return { key: { key: { jwksUri: uri } }, notes: [] };
  const publicKey = certified(text(attributes["jwt.credential.certificate"]));
  if (publicKey) return { key: { key: { publicKey } }, notes: [] };
  return { key: {}, notes: [lost("its key; until you add one with AddApplicationKey, it cannot authenticate")] };
}

/** The public key of a Base64-encoded certificate. */
function certified(base64: string): JsonObject | undefined {
  if (base64 === "") return undefined;
  try {
    const { kty, n, e, crv, x, y } = new X509Certificate(Buffer.from(base64, "base64")).publicKey.export({
      format: "jwk",
    });
    return JSON.parse(JSON.stringify({ kty, n, e, crv, x, y }));
  } catch {
    return undefined;
  }
}

/** The hash of the secret. The administration console replaces secrets with asterisks in its exports, which are not secrets. */
function secretOf({ secret }: Named, method: Method): JsonObject {
  const known = method === "BASIC" && !/^\**$/.test(text(secret)) ? text(secret) : "";
  return known ? { clientSecretHash: createHash("sha256").update(known).digest("hex") } : {};
}

const logoutUrisOf = (attributes: Named): string[] =>
  text(attributes["post.logout.redirect.uris"])
    .split("##")
    .filter((uri) => !["", "+", "-"].includes(uri));

/** The URIs that can be compared exactly: without wildcards, and with relative ones resolved against the client's root URL. */
function urisOf(
  { rootUrl }: Named,
  uris: readonly string[],
): { readonly uris: string[]; readonly notes: readonly Note[] } {
  const notes: Note[] = [];
  const root = text(rootUrl).replace(/\/$/, "");
  const kept = uris.flatMap((uri) => {
    const whole = uri.startsWith("/") && /^https?:\/\/[^$]/.test(root) ? root + uri : uri;
    if (uri.includes("*")) notes.push(lost("redirect URIs with a wildcard; register each address in full"));
    else if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(whole))
      notes.push(lost("relative redirect URIs, because it has no root URL"));
    else return [whole];
    return [];
  });
  return { uris: kept, notes: notes.filter((one, n) => notes.findIndex(({ what }) => what === one.what) === n) };
}

const [leastSeconds, mostSeconds] = [60, 86_400];

/** The lifetime of a client's access tokens, which is that of its ID tokens too; without one, the realm's applied. */
function lifespanOf(attributes: Named): { readonly json: JsonObject; readonly notes: readonly Note[] } {
  const asked = Number(text(attributes["access.token.lifespan"]));
  if (!Number.isSafeInteger(asked) || asked <= 0) return { json: {}, notes: [] };
  const seconds = Math.min(Math.max(asked, leastSeconds), mostSeconds);
  const notes =
    seconds === asked ? [] : [changed("the lifetime of its tokens, which must be between one minute and 24 hours")];
  return { json: { accessTokenLifetime: `${seconds}s`, idTokenLifetime: `${seconds}s` }, notes };
}

function flowNotes(client: Named, redirectUris: readonly string[]): Note[] {
  const needsOne = client.standardFlowEnabled !== false || client.implicitFlowEnabled === true;
  return [
    ...(needsOne && redirectUris.length === 0 ? [lost("sign-in; nobody can sign in until it has a redirect URI")] : []),
    ...(client.serviceAccountsEnabled === true
      ? [lost("the client credentials grant; use a machine user with an access token instead")]
      : []),
    ...(client.directAccessGrantsEnabled === true ? [lost("the password grant")] : []),
  ];
}

function flowOf(client: Named, attributes: Named): JsonObject {
  const isCode = client.standardFlowEnabled !== false;
  const isImplicit = client.implicitFlowEnabled === true;
  const isDevice = text(attributes["oauth2.device.authorization.grant.enabled"]) === "true";
  const chosen = (pairs: readonly (readonly [boolean, string])[]) => pairs.flatMap(([is, name]) => (is ? name : []));
  return {
    responseTypes: chosen([
      [isCode, "OIDC_RESPONSE_TYPE_CODE"],
      [isImplicit, "OIDC_RESPONSE_TYPE_ID_TOKEN"],
      [isImplicit, "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"],
    ]),
    grantTypes: chosen([
      [isCode, "OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
      [isCode, "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
      [isImplicit, "OIDC_GRANT_TYPE_IMPLICIT"],
      [isDevice, "OIDC_GRANT_TYPE_DEVICE_CODE"],
    ]),
  };
}
