import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { DeclaredClaim } from "../../../gen/postern/v1/application_pb.ts";
import { ClaimOrigin, ExplainedKind } from "../../../gen/postern/v1/explanation_pb.ts";
import { wordsOf } from "../http/parameters.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { introspectedParts } from "../tokens/bearer_endpoints.ts";
import { accessTokenParts, idTokenParts, isJwtClient, userinfoParts } from "../tokens/claims.ts";
import { type ClaimParts, type Claims, fitted, joined } from "../tokens/claims_size.ts";
import type { SignOn } from "../tokens/subject.ts";
import { isInEffect } from "./explained_grants.ts";
import { type ObjectShown, organizationShown } from "./explained_object.ts";
import type { GrantFound } from "./explained_read.ts";

/** A sign-in that is possible, the request for it, and what the caller may read of its claims. */
export type ClaimsOf = {
  readonly request: AuthorizationRequest;
  readonly signOn: SignOn;
  readonly issuer: string;
  readonly grants: readonly GrantFound[];
  readonly reads: Readonly<Record<"userMetadata" | "organizationMetadata", boolean>>;
};

// Times and ids of the sign-in itself, the methods that the user chooses, and the key that tokens are bound to.
const decidedLater = ["exp", "iat", "auth_time", "amr", "sid", "jti", "at_hash", "nonce", "cnf"];

/** The claims that an application would get, with their origins, by where they appear. */
export function claimsShown(of: ClaimsOf) {
  const { request, signOn, issuer } = of;
  const { client, responseType, scope } = request;
  const issue = { issuer, now: 0, expires: 0 };
  const isAlone = responseType === "id_token";
  const companion = isAlone ? { isAlone } : { accessToken: "later" };
  const isOpenid = wordsOf(scope).includes("openid");
  const idToken = isOpenid ? idTokenParts(client, { signOn, issue, companion }) : undefined;
  const jkt = client.oidc.dpopBoundAccessTokens ? "later" : undefined;
  const jwt = accessTokenParts(client, { signOn, issue, token: { jti: "", scope, jkt } });
  const none = { resource: null, issuedAt: 0, expiresAt: 0 };
  const found = { ...none, scope, jkt: jkt ?? null, end: { clientId: client.clientId } };
  const opaque = introspectedParts(issuer, { client, found, signOn });
  const isJwt = isJwtClient(client);
  return {
    idToken: idToken ? shown(fitted(idToken), idToken, of) : [],
    accessToken: isAlone ? [] : isJwt ? shown(fitted(jwt), jwt, of) : shown(joined(opaque), opaque, of),
    userinfo: isOpenid && !isAlone ? ofUserinfo(of) : [],
  };
}

function ofUserinfo(of: ClaimsOf) {
  const parts = userinfoParts(of.request.client, of.signOn, of.request.scope);
  return shown(joined(parts), parts, of);
}

const shown = (claims: Claims, parts: ClaimParts, of: ClaimsOf) =>
  Object.entries(claims).map(([name, value]) => {
    const origin = originOf(name, parts, of);
    const isRead = !decidedLater.includes(name) && isReadable(origin, of);
    return { name, ...origin, ...(isRead ? { value: fromJson(ValueSchema, value as JsonValue) } : {}) };
  });

type Origin = {
  readonly origin: ClaimOrigin;
  readonly metadataKey?: string;
  readonly userGrantIds?: string[];
  readonly object?: ObjectShown;
};

function originOf(name: string, parts: ClaimParts, of: ClaimsOf): Origin {
  if (Object.hasOwn(parts.declared, name)) return originOfDeclared(name, of);
  if (Object.hasOwn(parts.roles, name)) return ofGrants(of, name === "roles" ? of.signOn.organizationId : undefined);
  if (Object.hasOwn(parts.profile, name)) return { origin: ClaimOrigin.PROFILE, object: userOf(of) };
  return { origin: ClaimOrigin.SIGN_IN };
}

function originOfDeclared(name: string, of: ClaimsOf): Origin {
  const declared = of.request.client.oidc.declaredClaims.find((claim) => claim.name === name);
  const source: DeclaredClaim["source"] = declared?.source ?? { case: undefined };
  switch (source.case) {
    case "userMetadata":
      return { origin: ClaimOrigin.USER_METADATA, metadataKey: source.value, object: userOf(of) };
    case "organizationMetadata":
      return {
        origin: ClaimOrigin.ORGANIZATION_METADATA,
        metadataKey: source.value,
        object: organizationShown(of.signOn.organizationId),
      };
    case "roles":
      return ofGrants(of, of.signOn.organizationId);
    case "role":
      return ofGrants(of, of.signOn.organizationId, source.value);
    case undefined:
      return { origin: ClaimOrigin.UNSPECIFIED };
  }
}

/** The grants that give the roles of a claim: those of one organization or of all, for any role or for one. */
function ofGrants({ grants }: ClaimsOf, organizationId: string | undefined, role?: string): Origin {
  const giving = grants.filter(
    (grant) =>
      isInEffect(grant) &&
      (organizationId === undefined || grant.owner === organizationId) &&
      (role === undefined ? grant.roleKeys.length > 0 : grant.roleKeys.includes(role)),
  );
  return { origin: ClaimOrigin.GRANTS, userGrantIds: giving.map(({ id }) => id) };
}

function isReadable({ origin }: Origin, { reads }: ClaimsOf): boolean {
  if (origin === ClaimOrigin.USER_METADATA) return reads.userMetadata;
  return origin !== ClaimOrigin.ORGANIZATION_METADATA || reads.organizationMetadata;
}

const userOf = ({ signOn: { userId, userOwner } }: ClaimsOf): ObjectShown => ({
  kind: ExplainedKind.USER,
  id: userId,
  organizationId: userOwner,
});
