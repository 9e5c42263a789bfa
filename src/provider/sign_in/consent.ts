import { loadOne } from "../../events/load.ts";
import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { allRolesScope, organizationScope } from "../../services/callers/scopes.ts";
import { wordsOf } from "../http/parameters.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { isBuiltIn, isForeign } from "../request/own_client.ts";
import { allowedResources, allowedScopes, type KeptResource, namesIn, type Resource } from "../request/resource.ts";
import type { ClientSession } from "./browser_session.ts";

type Allowing = { readonly isAllowed: boolean };

type Consenting = Pick<ClientSession, "permitted" | "allowed" | "owner">;

/**
 * Whether to ask the user for consent: if the application belongs to another organization and asks for more than was allowed before, or if
 * it requests the prompt. Users who may not use the application are not asked.
 */
export function asksConsent(request: AuthorizationRequest, session: Consenting, { isAllowed }: Allowing): boolean {
  const { client, prompts } = request;
  if (isAllowed || !session.permitted) return false;
  if (prompts.includes("consent") && !isBuiltIn(client)) return true;
  const { allowed } = session;
  // Even a request without scopes needs consent, because it tells the application who the user is.
  const isCovered = allowed !== null && allowedScopes(request).every((scope) => allowed.includes(scope));
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

// Scopes contain no space.
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

/** The scopes that a consent page names: those of the request, and roles and metadata if the application gets them without a scope. */
export function askedScopes({ client: { oidc }, scope, resources }: AuthorizationRequest): readonly string[] {
  const sources = oidc.declaredClaims.map(({ source }) => source.case);
  const has = (...some: typeof sources) => some.some((one) => sources.includes(one));
  const withRoles = oidc.idTokenRoleAssertion || oidc.accessTokenRoleAssertion || has("roles", "role");
  const withMetadata = has("userMetadata", "organizationMetadata");
  const declared = namesIn(resources);
  const ours = wordsOf(scope).filter((word) => !declared.includes(word));
  return [...ours, ...(withRoles ? ["roles"] : []), ...(withMetadata ? [sharedMetadata] : [])];
}

/** The access that a request asks for at the APIs that it names, in the words of the APIs. */
export const resourceSentences = (request: ResourceScopes, language: Language): string[] =>
  allowedResources(request).map(({ resource: { name, uri }, declared }) =>
    declared
      ? declared.texts[language] || (declared.texts.en ?? declared.name)
      : pageText("scope_resource", language, { application: name, uri }),
  );

type ResourceScopes = Pick<AuthorizationRequest, "scope" | "resources">;

/** The access that a consent gives at an API, in the API's words; an API that is gone is only named, by its host. */
export function keptSentences({ uri, names }: KeptResource, resource: Resource | null, language: Language): string[] {
  if (resource) return resourceSentences({ scope: names.join(" "), resources: [resource] }, language);
  const application = URL.canParse(uri) ? new URL(uri).host : uri;
  return [pageText("scope_resource", language, { application, uri })];
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
