import { fromJson } from "@bufbuild/protobuf";
import { ClaimPlace, OidcAuthMethodType, OidcConfigurationSchema } from "../../../gen/postern/v1/application_pb.ts";
import type { Deps } from "../../deps.ts";
import { hashToken } from "../../security/token.ts";
import { OauthError } from "../http/oauth_error.ts";
import { jwtMaxLength, required, wordsOf } from "../http/parameters.ts";
import type { Client } from "../request/client.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { isForeign } from "../request/own_client.ts";
import { roleClaims, userinfoClaims } from "./claims.ts";
import type { Claims } from "./claims_size.ts";
import { declaredIn, declaredRead } from "./declared_claims.ts";
import { clientAndRefresh, clientAndToken, type FoundToken, tokenRead } from "./grant_read.ts";
import { claimsOfOwn } from "./jwt.ts";
import { endSignOn, SignOnEnd } from "./sign_on.ts";
import type { SigningKeys } from "./signing_keys.ts";
import type { SignOn } from "./subject.ts";

type Parts = {
  readonly deps: Deps;
  readonly keys: SigningKeys;
  readonly issuer: () => string;
  readonly authenticate: Authenticate;
};

/**
 * The value whose hash identifies an access token's row: the token itself, or the jti if it is one of our JWTs; undefined for anything
 * else.
 */
function valueRead({ keys, issuer, deps }: Pick<Parts, "keys" | "issuer" | "deps">) {
  return async (token: string): Promise<string | undefined> => {
    if (token.length > jwtMaxLength) return undefined;
    if (!token.includes(".")) return isOpaque(token) ? token : undefined;
    const claims = await claimsOfOwn(keys, token, { issuer: issuer(), type: "at+jwt", at: deps.clock() });
    return claims?.jti;
  };
}

// A JWT's jti identifies its row too but is no secret: somebody who reads it in a log must not be able to present it as a token.
const isOpaque = (token: string): boolean => token.startsWith("oa_");

/** Makes the handler of the userinfo endpoint (OpenID Connect Core 1.0, 5.3); `onClient` receives the token's client. */
export function userinfoEndpoint(parts: Omit<Parts, "authenticate">) {
  const { deps } = parts;
  const [storedOf, find, withDeclared] = [valueRead(parts), tokenRead(deps.sql), declaredRead(deps.sql)];

  return async (token: string, onClient: (client: Client) => void): Promise<Claims> => {
    const value = await storedOf(token);
    const row = value === undefined ? undefined : await find(value, deps.clock());
    if (row) onClient(row.client);
    const signOn = row?.found.signOn;
    if (!row?.client.active || !signOn)
      throw new OauthError("invalid_token", "the access token is unknown, expired, or its sign-in has ended");
    if (!wordsOf(row.found.scope).includes("openid"))
      throw new OauthError("insufficient_scope", "the access token lacks the scope openid");
    return userinfoClaims(row.client, await withDeclared(row.client, signOn), row.found.scope);
  };
}

const inactive = { active: false };

/** Makes the handler of the introspection endpoint (RFC 7662), for clients of the token's project. */
export function introspectionEndpoint(parts: Parts) {
  const { deps, authenticate } = parts;
  const [storedOf, find, withDeclared] = [valueRead(parts), clientAndToken(deps.sql), declaredRead(deps.sql)];

  return async ({ form, proof, call, onClient }: TokenQuestion): Promise<Claims> => {
    const token = required(form, "token", jwtMaxLength);
    const value = await storedOf(token);
    const read = await find(proof.clientId, value ?? "", deps.clock());
    const client = await authenticate(read?.client, { proof, call, onClient });
    if (client.oidc.authMethodType === OidcAuthMethodType.NONE)
      throw new OauthError("invalid_client", "an application without a secret or key cannot ask about tokens");
    const { found } = read ?? {};
    const isInAudience = found?.end.projectId === client.projectId && !found.signOn?.forApi;
    if (value === undefined || !found?.signOn || !isInAudience) return inactive;
    const signOn = await withDeclared(declaringOf(client, found), found.signOn);
    return introspected(parts.issuer(), { client, found, signOn });
  };
}

/** The application that a token was issued to, which is of the same project and so of the same organization as the one that asks. */
const declaringOf = ({ owner }: Client, { end, declaring }: FoundToken) => ({
  clientId: end.clientId,
  owner,
  oidc: fromJson(OidcConfigurationSchema, declaring ?? {}),
});

type Introspected = { readonly client: Client; readonly found: FoundToken; readonly signOn: SignOn };

const introspected = (issuer: string, { client, found, signOn }: Introspected): Claims => ({
  active: true,
  scope: found.scope,
  sub: signOn.userId,
  ...(isNamed(client, { found, signOn }) ? { username: signOn.qualifiedName } : {}),
  aud: signOn.projectId,
  iss: issuer,
  iat: found.issuedAt,
  exp: found.expiresAt,
  token_type: "Bearer",
  client_id: found.end.clientId,
  "urn:postern:organization:id": signOn.organizationId,
  ...roleClaims(signOn, { scope: found.scope, isShown: true }),
  ...declaredIn(signOn, ClaimPlace.ACCESS_TOKEN),
});

/** Whether a client learns the username. Users of other organizations allow that with the scope `profile`. */
const isNamed = (client: Client, { found, signOn }: Omit<Introspected, "client">): boolean =>
  !isForeign(client, signOn.userOwner) || wordsOf(found.scope).includes("profile");

/** Makes the handler of the revocation endpoint (RFC 7009), whose responses have no body. */
export function revocationEndpoint(parts: Parts) {
  const { deps, authenticate } = parts;
  const [storedOf, tokenOf, refreshOf] = [valueRead(parts), clientAndToken(deps.sql), clientAndRefresh(deps.sql)];

  return async ({ form, proof, call, onClient }: TokenQuestion): Promise<void> => {
    const token = required(form, "token", jwtMaxLength);
    const value = (await storedOf(token)) ?? "";
    const [access, refresh] = await Promise.all([
      tokenOf(proof.clientId, value, deps.clock()),
      refreshOf(proof.clientId, token, deps.clock()),
    ]);
    const client = await authenticate(access?.client, { proof, call, onClient });
    const end = refresh?.found?.end ?? access?.found?.end;
    if (end && end.appId !== client.appId) throw new OauthError("invalid_grant", "the token is of another client");
    const ended = refresh?.found ?? (access?.found?.signOn?.forApi ? access.found : undefined);
    // Nodes cache callers of our API for a moment, and the fact reaches all of them. RFC 7009, 2.1 allows ending the refresh token as well.
    if (ended) await endSignOn(deps, call, ended.end, SignOnEnd.REVOKED);
    else if (access?.found) await deps.sql`delete from sign_on_tokens where hash = ${hashToken(value)}`;
  };
}
