import { loadOne } from "../../events/load.ts";
import type { Language } from "../../messages/language.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hrefOf, resourceHolds } from "../../services/callers/resource_in_force.ts";
import { organizationScope, scopes } from "../../services/callers/scopes.ts";
import { wordsOf } from "../http/parameters.ts";

/** An API that tokens can be for: an API application, by one of its URIs (RFC 8707). */
export type Resource = {
  readonly appId: string;
  /** The name of the application. */
  readonly name: string;
  /** The URI as the application states it, which is the audience of its tokens. */
  readonly uri: string;
  /** The URI in the form in which it is compared. */
  readonly href: string;
  /** Whether its tokens are JWTs, and the algorithm that signs them. */
  readonly isJwt: boolean;
  readonly algorithm: "RS256" | "ES256";
  readonly scopes: readonly DeclaredScope[];
  /** Whether clients that bring their own document may have its tokens. */
  readonly acceptsDocuments: boolean;
};

/** A scope that an API declares, as its configuration has it. */
type DeclaredScope = {
  readonly name: string;
  readonly role?: string;
  readonly texts: { readonly [L in Language]?: string };
};

/** How many resources one request may name. */
export const mostResources = 5;

/** The API application and the URI of a resource, as sign-ins and tokens keep them. */
export type ResourceKey = Pick<Resource, "appId" | "href">;

export const resourceKeys = (resources: readonly Resource[]): readonly ResourceKey[] =>
  resources.map(({ appId, href }) => ({ appId, href }));

const resourceValue = `json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false))`;

/** The SQL of the resource `r` and its application `y`, if both are in force, in the project or in any. */
const inForce = (project?: string) =>
  `join applications y on y.app_id = r.app_id${project ? ` and (y.project_id = ${project}) is true` : ""} and y.active where ${resourceHolds}`;

/** The SQL of the resource that a key in a JSON value names; null if the project no longer has it. */
export const resourceOf = (key: string, project: string): string => `(select ${resourceValue}
        from (select * from resource_uris u where u.href = ${key}->>'href' and u.app_id = ${key}->>'appId') r
        ${inForce(project)})`;

/** The SQL of the resource with a URI, and of its project; no row without one. */
export const resourceAnywhere = (href: string): string => `(select y.project_id, ${resourceValue} as resource
        from (select * from resource_uris u where u.href = ${href}) r
        ${inForce()} limit 1)`;

/** The SQL of the application of the resource with a URI, if it accepts clients that bring their own document; no row without one. */
export const acceptingResource = (href: string): string => `(select r.app_id
        from (select * from resource_uris u where u.href = ${href}) r
        ${inForce()} and (y.api->>'acceptsClientDocuments')::boolean limit 1)`;

/** The SQL of the resources that a JSON array of keys names, in its order; null without one. */
export const resourcesOf = (keys: string, project: string): string => `case when ${keys} is not null then (
        select json_agg(${resourceOf("k.key", project)} order by k.at)
        from jsonb_array_elements(${keys}) with ordinality k (key, at)) end`;

/** Makes the read of the resources of a project by their URIs, in the same order; null for each that it does not have. */
export const resourcesRead = (sql: Sql) => projectResources(sql, "asked.id");

/** Makes the same read for the project of an application. */
export const resourcesNearRead = (sql: Sql) =>
  projectResources(sql, "(select a.project_id from applications a where a.app_id = asked.id)");

function projectResources(sql: Sql, project: string) {
  type Key = { readonly id: string; readonly hrefs: readonly string[] };
  const read = loadOne<Key, { resources: readonly (Resource | null)[] }>(sql, {
    asked: "id text, hrefs text[]",
    select: `select n, (select json_agg((select ${resourceValue}
          from (select * from resource_uris u where u.href = w.href) r
          ${inForce(project)} limit 1) order by w.at)
        from unnest(asked.hrefs) with ordinality w (href, at)) as resources from asked`,
  });
  return async (id: string, uris: readonly string[]): Promise<readonly (Resource | null)[]> =>
    (await read({ id, hrefs: uris.map(hrefOf) }))?.resources ?? [];
}

/**
 * The part of the requested scopes that a token for a resource gets: our own scopes, and those that the resource declares, unless they name
 * a role that the user does not have.
 */
export function scopeFor(resource: Resource, scope: string, roles: readonly string[]): string {
  const own: readonly string[] = scopes;
  const isGranted = ({ name, role = "" }: DeclaredScope, word: string) =>
    name === word && (role === "" || roles.includes(role));
  return wordsOf(scope)
    .filter(
      (word) =>
        own.includes(word) ||
        word.startsWith(organizationScope) ||
        resource.scopes.some((declared) => isGranted(declared, word)),
    )
    .join(" ");
}

/** The names of the scopes that resources declare. */
export const namesIn = (resources: readonly Resource[]): readonly string[] =>
  resources.flatMap(({ scopes }) => scopes.map(({ name }) => name));

/** The scopes and resources that a request names. */
type Scoped = { readonly scope: string; readonly resources: readonly Resource[] };

/** A scope of a resource in a request, or the resource itself, and its form in a consent: no resource has a fragment of its own. */
export type AllowedResource = { readonly resource: Resource; readonly declared?: DeclaredScope; readonly kept: string };

/** The scopes of its resources that a request needs consent for. */
export function allowedResources({ scope, resources }: Scoped): readonly AllowedResource[] {
  const words = wordsOf(scope);
  return resources.flatMap((resource) => [
    { resource, kept: resource.uri },
    ...resource.scopes
      .filter(({ name }) => words.includes(name))
      .map((declared) => ({ resource, declared, kept: `${resource.uri}#${declared.name}` })),
  ]);
}

/** The part of a consent for one API: its URI, and the names of its scopes. */
export type KeptResource = { readonly uri: string; readonly names: readonly string[] };

/** Splits the scopes of a consent into those of APIs and the others. */
export function keptIn(scopes: readonly string[]): { readonly apis: readonly KeptResource[]; readonly ours: string[] } {
  const isOfApi = (scope: string) => /^https?:\/\//.test(scope);
  const parts = scopes.filter(isOfApi).map((scope) => scope.split("#", 2));
  const uris = [...new Set(parts.map(([uri = ""]) => uri))];
  const namesOf = (uri: string) => parts.flatMap(([of, name]) => (of === uri && name !== undefined ? [name] : []));
  return {
    apis: uris.map((uri) => ({ uri, names: namesOf(uri) })),
    ours: scopes.filter((scope) => !isOfApi(scope)),
  };
}

/** The scopes that a user allows with a request. A name alone could be a scope of another API as well. */
export function allowedScopes({ scope, resources }: Scoped): readonly string[] {
  const declared = namesIn(resources);
  const ours = wordsOf(scope).filter((word) => !declared.includes(word));
  return [...ours, ...allowedResources({ scope, resources }).map(({ kept }) => kept)];
}
