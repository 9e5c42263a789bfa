import { createHash } from "node:crypto";
import { ClaimPlace, OidcTokenType } from "../../../gen/postern/v1/application_pb.ts";
import { acrOf } from "../../services/callers/authentication_class.ts";
import { allRolesScope } from "../../services/callers/scopes.ts";
import { wordsOf } from "../http/parameters.ts";
import type { Client } from "../request/client.ts";
import { type ClaimParts, type Claims, fitted, joined } from "./claims_size.ts";
import { declaredIn } from "./declared_claims.ts";
import type { SignOn } from "./subject.ts";
import { keyClaim, type TokenKey } from "./token_key.ts";

const hasWord = (scope: string, word: string): boolean => wordsOf(scope).includes(word);

/** The number of seconds by which a token's validity is extended, for clients whose clocks differ. */
export const skewOf = ({ oidc: { clockSkew } }: Pick<Client, "oidc">): number =>
  clockSkew ? Number(clockSkew.seconds) + Math.ceil(clockSkew.nanos / 1e9) : 0;

/** The roles in the organization signed in for, if they are to be shown, and those from all organizations, if a scope asks for them. */
export const roleClaims = ({ roles, allRoles }: SignOn, { scope, isShown }: WantedRoles): Claims => ({
  ...(isShown || hasWord(scope, "roles") ? { roles } : {}),
  ...(allRoles !== null && hasWord(scope, allRolesScope) ? { [allRolesScope]: allRoles } : {}),
});

type WantedRoles = { readonly scope: string; readonly isShown: boolean };

const organizationClaims = ({ organizationId }: SignOn): Claims => ({ "urn:postern:organization:id": organizationId });

/** The claims about a user that the scopes ask for (OpenID Connect Core 1.0, 5.4). */
export function profileClaims(signOn: SignOn, scope: string): Claims {
  const { email, phone, address } = signOn;
  return {
    ...(hasWord(scope, "profile") ? namesOf(signOn) : {}),
    ...(hasWord(scope, "email") && email !== null ? { email, email_verified: signOn.emailVerified } : {}),
    ...(hasWord(scope, "phone") && phone !== null
      ? { phone_number: phone, phone_number_verified: signOn.phoneVerified }
      : {}),
    ...(hasWord(scope, "address") && address !== null ? { address: addressClaim(address) } : {}),
  };
}

/** OpenID Connect Core 1.0, 5.1.1. */
const addressClaim = ({ streetAddress, locality, region, postalCode, country }: Readonly<Record<string, string>>) => ({
  ...(streetAddress === undefined ? {} : { street_address: streetAddress }),
  ...(locality === undefined ? {} : { locality }),
  ...(region === undefined ? {} : { region }),
  ...(postalCode === undefined ? {} : { postal_code: postalCode }),
  ...(country === undefined ? {} : { country }),
});

function namesOf(signOn: SignOn): Claims {
  const { givenName, familyName, language, updatedAt } = signOn;
  const name = [givenName, familyName].filter((part) => part !== null).join(" ");
  return {
    ...(name ? { name } : {}),
    ...(givenName === null ? {} : { given_name: givenName }),
    ...(familyName === null ? {} : { family_name: familyName }),
    preferred_username: signOn.qualifiedName,
    ...(language === null ? {} : { locale: language }),
    updated_at: updatedAt,
  };
}

/** The claims of the userinfo endpoint. */
export const userinfoClaims = (client: Client, signOn: SignOn, scope: string): Claims =>
  joined(userinfoParts(client, signOn, scope));

/** The claims of the userinfo endpoint, by their origin. */
export const userinfoParts = ({ oidc }: Client, signOn: SignOn, scope: string): ClaimParts => ({
  required: { sub: signOn.userId, ...organizationClaims(signOn) },
  profile: profileClaims(signOn, scope),
  // If a token had no room for its roles, they are available here.
  roles: roleClaims(signOn, { scope, isShown: oidc.idTokenRoleAssertion || oidc.accessTokenRoleAssertion }),
  declared: declaredIn(signOn, ClaimPlace.USERINFO),
});

/** The issuer of a token, and in seconds since 1970, its time and its expiry, which allows for slow clocks. */
export type Issue = { readonly issuer: string; readonly now: number; readonly expires: number };

/** The access token that accompanies an ID token, and whether none will ever follow. */
export type Companion = { readonly accessToken?: string | undefined; readonly isAlone?: boolean };

/**
 * The claims of an ID token. If no access token accompanies it, it also contains the claims of the scopes (OpenID Connect Core 1.0, 5.4).
 */
export const idTokenClaims = (client: Client, signOn: SignOn, issue: Issue, companion: Companion = {}): Claims =>
  fitted(idTokenParts(client, { signOn, issue, companion }));

/** The claims of an ID token by their origin, including those for which there may be no room. */
export function idTokenParts(client: Client, { signOn, issue, companion }: IdTokenOf): ClaimParts {
  const { accessToken, isAlone = false } = companion;
  const { oidc, clientId } = client;
  const { nonce, scope } = signOn;
  const skew = skewOf(client);
  const required = {
    iss: issue.issuer,
    aud: clientId,
    exp: issue.expires,
    iat: issue.now - skew,
    sub: signOn.userId,
    auth_time: signOn.authTime,
    amr: signOn.methods,
    acr: acrOf(signOn.methods),
    sid: signOn.sessionId,
    ...(nonce === null ? {} : { nonce }),
    ...(accessToken === undefined ? {} : { at_hash: halfHashOf(accessToken) }),
    ...organizationClaims(signOn),
  };
  const profile = oidc.idTokenUserinfoAssertion || isAlone ? profileClaims(signOn, scope) : {};
  const roles = roleClaims(signOn, { scope, isShown: oidc.idTokenRoleAssertion });
  return { required, profile, roles, declared: declaredIn(signOn, ClaimPlace.ID_TOKEN) };
}

type IdTokenOf = { readonly signOn: SignOn; readonly issue: Issue; readonly companion: Companion };

// OpenID Connect Core 1.0, 3.1.3.6 and 3.2.2.9: both of our algorithms use SHA-256. at_hash is optional next to a code, but go-oidc only
// verifies access tokens with it.
const halfHashOf = (token: string): string =>
  createHash("sha256").update(token).digest().subarray(0, 16).toString("base64url");

/** The claims of a JWT access token (RFC 9068, 2.2). */
export const accessTokenClaims = (client: Client, signOn: SignOn, issue: Issue, token: JwtToken): Claims =>
  fitted(accessTokenParts(client, { signOn, issue, token }));

/** The id and scope of an access token, its audience unless that is the project, and the key that it is bound to. */
type JwtToken = {
  readonly jti: string;
  readonly scope: string;
  readonly audience?: string | undefined;
  readonly jkt?: TokenKey;
};

type AccessTokenOf = { readonly signOn: SignOn; readonly issue: Issue; readonly token: JwtToken };

/** The claims of a JWT access token by their origin, including those for which there may be no room. */
export function accessTokenParts(client: Client, { signOn, issue, token }: AccessTokenOf): ClaimParts {
  const skew = skewOf(client);
  const required = {
    iss: issue.issuer,
    aud: token.audience ?? client.projectId,
    exp: issue.expires,
    iat: issue.now - skew,
    sub: signOn.userId,
    client_id: client.clientId,
    jti: token.jti,
    scope: token.scope,
    auth_time: signOn.authTime,
    acr: acrOf(signOn.methods),
    amr: signOn.methods,
    ...keyClaim(token.jkt),
    ...organizationClaims(signOn),
  };
  const isShown = client.oidc.accessTokenRoleAssertion;
  const roles = roleClaims(signOn, { scope: token.scope, isShown });
  return { required, profile: {}, roles, declared: declaredIn(signOn, ClaimPlace.ACCESS_TOKEN) };
}

export const isJwtClient = ({ oidc }: Client): boolean => oidc.accessTokenType === OidcTokenType.JWT;
