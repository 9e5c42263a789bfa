import { hrefOf } from "../../services/callers/resource_in_force.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { Parameters } from "../http/parameters.ts";
import type { Client } from "./client.ts";
import { mostResources, type Resource } from "./resource.ts";

const invalid = (description: string) => new OauthError("invalid_target", description);

/** The target of a request (RFC 8707, 2): our own API, or APIs of the application's project; neither if it names no resource. */
export type Target = { readonly forApi: boolean; readonly resources: readonly Resource[] };

/** The facts by which the names in a request are checked. */
type Known = {
  readonly issuer: string;
  /** The resources that the request names, as found in the application's project. */
  readonly found: readonly (Resource | null)[];
};

/** The resources that a request names, each once, without our own API; none if there are too many to look up. */
export function resourcesNamed(parameters: Parameters, issuer: string | undefined): readonly string[] {
  const names = [...new Set(parameters.all("resource"))].filter((name) => !isOwnApi(name, issuer));
  return names.length > mostResources || names.some((name) => name.length > longestResource) ? [] : names;
}

export const longestResource = 1_000;

export const isOwnApi = (name: string, issuer: string | undefined): boolean => name === issuer || name === `${issuer}/`;

/** The target of a request. Fails for a resource that the application cannot have tokens for. */
export function targetIn(client: Client, parameters: Parameters, { issuer, found }: Known): Target {
  const named = parameters.all("resource");
  if (named.length === 0) return { forApi: false, resources: [] };
  if (named.some((name) => isOwnApi(name, issuer))) {
    if (new Set(named.map(hrefOf)).size > 1) throw invalid(`${issuer} cannot be named together with another resource`);
    if (!client.oidc.firstParty) throw invalid("the application is not marked as first-party");
    if (client.oidc.dpopBoundAccessTokens || parameters.get("dpop_jkt") !== undefined) throw noBoundTokens();
    return { forApi: true, resources: [] };
  }
  if (new Set(named).size > mostResources) throw invalid(`there are more than ${mostResources} resources`);
  const resources = found.filter((one) => one !== null);
  const known = resources.map(({ href }) => href);
  if (!named.every((name) => known.includes(hrefOf(name))))
    throw invalid(`a resource is neither ${issuer} nor an API of the application's project`);
  if (client.bringsDocument && !resources.every(({ acceptsDocuments }) => acceptsDocuments)) throw refusesDocuments();
  return { forApi: false, resources: resources.filter(({ href }, at) => known.indexOf(href) === at) };
}

/** The error for a token for our own API that would be bound to a key: our API accepts no such tokens. */
export const noBoundTokens = () => invalid("our own API takes no access tokens that are bound to a key (DPoP)");

const refusesDocuments = () => invalid("a resource does not accept clients that bring their own document");

/** The target of a sign-in: null resources if it named none, and null for each that the project no longer has. */
export type SignedTarget = {
  readonly forApi: boolean;
  readonly resources: readonly (Resource | null)[] | null;
};

/** A request for tokens, and the key that they will be bound to. */
type TokenRequest = { readonly form: Parameters; readonly issuer: string; readonly jkt: string | undefined };

/**
 * The resource that a token is for: the one that its request names, if the sign-in was for it, otherwise the first. Without resources,
 * fails if a token request names our API but the sign-in was not for it, and if another application requests tokens for it.
 */
export function resourceFor(
  client: Client,
  { forApi, resources }: SignedTarget,
  { form, issuer, jkt }: TokenRequest,
): Resource | undefined {
  const named = form.get("resource");
  if (resources !== null) {
    const wanted = named === undefined ? resources[0] : resources.find((one) => one?.href === hrefOf(named));
    if (!wanted) throw invalid("the resource is gone, or the authorization request did not name it");
    if (client.bringsDocument && !wanted.acceptsDocuments) throw refusesDocuments();
    return wanted;
  }
  if (named !== undefined && !isOwnApi(named, issuer))
    throw invalid("the authorization request did not name the resource");
  const asks = named !== undefined && targetIn(client, form, { issuer, found: [] }).forApi;
  if (asks && !forApi) throw invalid("the authorization request did not name the resource");
  if (forApi && !client.oidc.firstParty) throw invalid("the application is no longer marked as first-party");
  if (forApi && jkt !== undefined) throw noBoundTokens();
  return undefined;
}
