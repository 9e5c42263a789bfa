import { fromJson } from "@bufbuild/protobuf";
import { ClaimPlace, OidcConfigurationSchema } from "../../../gen/postern/v1/application_pb.ts";
import type { Deps } from "../../deps.ts";
import { hashToken } from "../../security/token.ts";
import { OauthError } from "../http/oauth_error.ts";
import { jwtMaxLength, required, wordsOf } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { type Client, isPublic } from "../request/client.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { isDocumentId } from "../request/document_id.ts";
import { type DpopProofs, dpopProofs } from "../request/dpop_proof.ts";
import { machineAuthentication, machineClientRead } from "../request/machine.ts";
import { isForeign } from "../request/own_client.ts";
import { scopeFor } from "../request/resource.ts";
import { roleClaims, userinfoClaims } from "./claims.ts";
import { type ClaimParts, type Claims, joined } from "./claims_size.ts";
import { declaredIn, declaredRead } from "./declared_claims.ts";
import { exchangedClaims, exchangedTokenRead } from "./exchanged_token.ts";
import { clientAndRefresh, clientAndToken, type End, type FoundToken, isUnaccepted, tokenRead } from "./grant_read.ts";
import { type FoundMachineToken, machineRevocation, machineTokenRead } from "./machine_token.ts";
import { endSignOn, SignOnEnd } from "./sign_on.ts";
import type { SigningKeys } from "./signing_keys.ts";
import { storedValueRead } from "./stored_value.ts";
import type { SignOn } from "./subject.ts";
import { keyClaim, tokenTypeOf } from "./token_key.ts";

type Parts = {
  readonly deps: Deps;
  readonly keys: SigningKeys;
  readonly issuer: () => string;
  readonly authenticate: Authenticate;
};

/** Makes the handler of the userinfo endpoint (OpenID Connect Core 1.0, 5.3); `onClient` receives the token's client. */
export function userinfoEndpoint(parts: Omit<Parts, "authenticate">) {
  const { deps } = parts;
  const [storedOf, find, withDeclared] = [storedValueRead(parts), tokenRead(deps.sql), declaredRead(deps.sql)];
  const proofs = dpopProofs(deps, parts.issuer);

  return async (presented: PresentedToken, onClient: (client: Client) => void): Promise<Claims> => {
    const value = await storedOf(presented.token);
    const row = value === undefined ? undefined : await find(value, deps.clock());
    if (row) onClient(row.client);
    const signOn = row?.found.signOn;
    if (!row?.client.active || !signOn || isOver(row.found) || isUnaccepted(row.found))
      throw new OauthError("invalid_token", "the access token is unknown, expired, or its sign-in has ended");
    await refuseOtherBearer(proofs, presented, row.found.jkt);
    if (!wordsOf(row.found.scope).includes("openid"))
      throw new OauthError("insufficient_scope", "the access token lacks the scope openid");
    return userinfoClaims(row.client, await withDeclared(row.client, signOn), row.found.scope);
  };
}

/** A request with an access token: its scheme, and the proof of a key, if any. */
export type PresentedToken = {
  readonly token: string;
  readonly scheme: "Bearer" | "DPoP";
  readonly method: string;
  readonly dpop: string | undefined;
};

/** Fails unless a token bound to a key comes with a new proof of that key, and any other token without one (RFC 9449, 7). */
async function refuseOtherBearer(proofs: DpopProofs, presented: PresentedToken, jkt: string | null): Promise<void> {
  const { token, scheme, method, dpop } = presented;
  if (scheme === "Bearer" && jkt === null) return;
  if (scheme === "Bearer")
    throw new OauthError("invalid_token", "the access token is bound to a key: its scheme is DPoP");
  if (jkt === null) throw new OauthError("invalid_token", "the access token is bound to no key: its scheme is Bearer");
  if (dpop === undefined) throw new OauthError("invalid_dpop_proof", "the request has no proof in the header DPoP");
  const proof = await proofs.checked({ proof: dpop, method, path: paths.userinfo, accessToken: token });
  if (proof.jkt !== jkt) throw new OauthError("invalid_token", "the access token is bound to another key");
  await proofs.used(proof);
}

const inactive = { active: false };

/** Makes the handler of the introspection endpoint (RFC 7662), for clients of the token's project. */
export function introspectionEndpoint(parts: Parts) {
  const { deps, authenticate } = parts;
  const [storedOf, find, withDeclared] = [storedValueRead(parts), clientAndToken(deps.sql), declaredRead(deps.sql)];
  const [machineToken, exchangedToken] = [machineTokenRead(deps.sql), exchangedTokenRead(deps.sql)];

  return async ({ form, proof, call, onClient }: TokenQuestion): Promise<Claims> => {
    const token = required(form, "token", jwtMaxLength);
    const value = await storedOf(token);
    const read = await find(proof.clientId, value ?? "", deps.clock());
    const client = await authenticate(read?.client, { proof, call, onClient });
    if (isPublic(client))
      throw new OauthError("invalid_client", "an application without a secret or key cannot ask about tokens");
    const { found } = read ?? {};
    if (!found) return ofMachine(client, value);
    if (value === undefined || !found.signOn || isUnaccepted(found)) return inactive;
    if (!isAudience(client, audienceOf(found, found.signOn))) return inactive;
    const signOn = await withDeclared(declaringOf(client, found), found.signOn);
    return joined(introspectedParts(parts.issuer(), { client, found, signOn }));
  };

  async function ofMachine(client: Client, value: string | undefined): Promise<Claims> {
    if (value === undefined) return inactive;
    const found = await machineToken(value, deps.clock());
    if (!found) return onBehalf(client, value);
    return isAudience(client, found) ? machineClaims(parts.issuer(), { client, found }) : inactive;
  }

  async function onBehalf(client: Client, value: string): Promise<Claims> {
    const found = await exchangedToken(value, deps.clock());
    return found?.resource.appId === client.appId ? exchangedClaims(parts.issuer(), { client, found }) : inactive;
  }
}

type Target = Pick<FoundToken, "isForResource" | "resource">;

/** Whether a token is for an API that the project no longer has. */
const isOver = ({ isForResource, resource }: Target): boolean => isForResource && resource === null;

/** The API or the project that a token is for; no project if it is for our own API. */
type Audience = Target & { readonly projectId: string | null };

const audienceOf = (found: FoundToken, { forApi }: SignOn): Audience => ({
  ...found,
  projectId: forApi ? null : found.end.projectId,
});

/** Whether a client is told about a token: it is the token's API, or, if the token names none, any application of its project. */
const isAudience = (client: Client, { isForResource, resource, projectId }: Audience): boolean =>
  projectId === client.projectId && (!isForResource || resource?.appId === client.appId);

/** The response of introspection about a valid token of a machine. */
const machineClaims = (issuer: string, { client, found }: { client: Client; found: FoundMachineToken }): Claims => ({
  active: true,
  scope: found.resource ? scopeFor(found.resource, found.scope, found.roles) : found.scope,
  sub: found.userId,
  ...(isForeign(client, found.userOwner) ? {} : { username: found.qualifiedName }),
  aud: found.resource?.uri ?? found.projectId,
  iss: issuer,
  iat: found.issuedAt,
  exp: found.expiresAt,
  token_type: tokenTypeOf(found.jkt),
  ...keyClaim(found.jkt),
  client_id: found.clientId,
  "urn:postern:organization:id": found.organizationId,
  roles: found.roles,
});

/** The application that a token was issued to. It belongs to the same project, and so to the same organization, as the client that asks. */
const declaringOf = ({ owner }: Client, { end, declaring }: FoundToken) => ({
  clientId: end.clientId,
  owner,
  oidc: fromJson(OidcConfigurationSchema, declaring ?? {}),
});

type Introspected = {
  readonly client: Client;
  readonly found: Pick<FoundToken, "scope" | "resource" | "jkt" | "issuedAt" | "expiresAt"> & {
    readonly end: Pick<End, "clientId">;
  };
  readonly signOn: SignOn;
};

/** The response of introspection about a valid token, by the origin of its claims. */
export const introspectedParts = (issuer: string, { client, found, signOn }: Introspected): ClaimParts => ({
  required: {
    active: true,
    scope: found.resource ? scopeFor(found.resource, found.scope, signOn.roles) : found.scope,
    sub: signOn.userId,
    ...(isNamed(client, { found, signOn }) ? { username: signOn.qualifiedName } : {}),
    aud: found.resource?.uri ?? signOn.projectId,
    iss: issuer,
    iat: found.issuedAt,
    exp: found.expiresAt,
    token_type: tokenTypeOf(found.jkt),
    ...keyClaim(found.jkt),
    client_id: found.end.clientId,
    "urn:postern:organization:id": signOn.organizationId,
  },
  profile: {},
  roles: roleClaims(signOn, { scope: found.scope, isShown: true }),
  declared: declaredIn(signOn, ClaimPlace.ACCESS_TOKEN),
});

/** Whether a client learns the username. Users of other organizations allow that with the scope `profile`. */
const isNamed = (client: Client, { found, signOn }: Omit<Introspected, "client">): boolean =>
  !isForeign(client, signOn.userOwner) || wordsOf(found.scope).includes("profile");

/** Makes the handler of the revocation endpoint (RFC 7009), whose responses have no body. */
export function revocationEndpoint(parts: Parts) {
  const { deps, authenticate } = parts;
  const [storedOf, tokenOf, refreshOf] = [storedValueRead(parts), clientAndToken(deps.sql), clientAndRefresh(deps.sql)];
  const [machineOf, machines] = [machineClientRead(deps.sql), machineAuthentication(deps, parts.issuer)];
  const revokeOfMachine = machineRevocation(deps);

  return async (request: TokenQuestion): Promise<void> => {
    const { form, proof, call, onClient } = request;
    const token = required(form, "token", jwtMaxLength);
    const value = (await storedOf(token)) ?? "";
    const [access, refresh] = await Promise.all([
      tokenOf(proof.clientId, value, deps.clock()),
      refreshOf(proof.clientId, token, deps.clock()),
    ]);
    const asMachine = access ? undefined : await machineOf(proof.clientId, deps.clock());
    if (asMachine) return revokeOfMachine((await machines.byClaim(asMachine, request)).machine, value, call);
    const known = access ?? refresh;
    // RFC 7009, 2.2: nothing is left to end. Such a client is known only by the token that it presents.
    if (!known && isDocumentId(proof.clientId)) return;
    const client = await authenticate(known?.client, { proof, call, onClient });
    const end = refresh?.found?.end ?? access?.found?.end;
    if (end && end.appId !== client.appId) throw new OauthError("invalid_grant", "the token is of another client");
    const ended = refresh?.found ?? (access?.found?.signOn?.forApi ? access.found : undefined);
    // Nodes cache callers of our API for a moment, and the fact reaches all of them. RFC 7009, 2.1 allows ending the refresh token as well.
    if (ended) await endSignOn(deps, call, ended.end, SignOnEnd.REVOKED);
    else if (access?.found) await deps.sql`delete from sign_on_tokens where hash = ${hashToken(value)}`;
  };
}
