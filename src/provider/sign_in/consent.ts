import { loadOne } from "../../events/load.ts";
import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { wordsOf } from "../http/parameters.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { isForeign, isOwnClient } from "../request/own_client.ts";
import { allRolesScope, organizationScope } from "../request/scopes.ts";
import type { ClientSession } from "./browser_session.ts";

type Allowing = { readonly isAllowed: boolean };

/**
 * Whether to ask the user for consent: if the application belongs to another organization and asks for more than was allowed before, or if
 * it requests the prompt. Users who may not use the application are not asked.
 */
export function asksConsent(request: AuthorizationRequest, session: ClientSession, { isAllowed }: Allowing): boolean {
  const { client, prompts } = request;
  if (isAllowed || !session.permitted) return false;
  if (prompts.includes("consent") && !isOwnClient(client)) return true;
  const { allowed } = session;
  // Even a request without scopes needs consent, because it tells the application who the user is.
  const isCovered = allowed !== null && wordsOf(request.scope).every((scope) => allowed.includes(scope));
  return isForeign(client, session.owner) && !isCovered;
}

/** The names of the organizations on a consent page. */
export type ConsentNames = {
  /** The organization that owns the application. */
  readonly owner: string;
  /** The organization that the request names, if the user belongs to it or has a grant from it. */
  readonly organization: string | null;
};

export function consentNamesRead(sql: Sql) {
  type Key = Readonly<{ owner: string; organization: string | null; user: string }>;
  const read = loadOne<Key, ConsentNames>(sql, {
    asked: `owner text, organization text, "user" text`,
    select: `select n, h.name as owner,
        (select o.name from organizations o where o.organization_id = asked.organization and (
          exists (select from users u where u.user_id = asked."user" and u.owner = o.organization_id)
          or exists (select from user_grants g where g.user_id = asked."user" and g.owner = o.organization_id))) as organization
      from asked join organizations h on h.organization_id = asked.owner`,
  });
  return async (request: AuthorizationRequest, session: ClientSession, signal: AbortSignal): Promise<ConsentNames> => {
    const { client, organizationId } = request;
    const key = { owner: client.owner, organization: organizationId ?? null, user: session.userId };
    return (await read(key, signal)) ?? { owner: client.owner, organization: null };
  };
}

// No scope has a space.
const sharedMetadata = "shared metadata";

const sentences: Readonly<Record<string, PageText>> = {
  openid: "scope_openid",
  profile: "scope_profile",
  email: "scope_email",
  phone: "scope_phone",
  address: "scope_address",
  roles: "scope_roles",
  [allRolesScope]: "scope_all_roles",
  offline_access: "scope_offline",
  [sharedMetadata]: "scope_metadata",
};

/** What a consent page names: the scopes of the request, and roles and metadata if the application gets them without a scope. */
export function askedScopes({ client: { oidc }, scope }: AuthorizationRequest): readonly string[] {
  const sources = oidc.declaredClaims.map(({ source }) => source.case);
  const has = (...some: typeof sources) => some.some((one) => sources.includes(one));
  const withRoles = oidc.idTokenRoleAssertion || oidc.accessTokenRoleAssertion || has("roles", "role");
  const withMetadata = has("userMetadata", "organizationMetadata");
  return [...wordsOf(scope), ...(withRoles ? ["roles"] : []), ...(withMetadata ? [sharedMetadata] : [])];
}

/** The scopes of a request in plain words. The application learns who the user is in any case. */
export function scopeSentences(scopes: readonly string[], organization: string | null, language: Language): string[] {
  return [...new Set(["openid", ...scopes])].map((scope) => {
    const sentence = Object.hasOwn(sentences, scope) ? sentences[scope] : undefined;
    if (sentence) return pageText(sentence, language);
    if (!scope.startsWith(organizationScope)) return scope;
    return pageText("scope_organization", language, {
      organization: organization ?? scope.slice(organizationScope.length),
    });
  });
}
