import { OidcAppType, OidcAuthMethodType, OidcResponseType } from "../../../gen/postern/v1/application_pb.ts";
import { grantTypeOf } from "../../services/applications/oidc_configuration.ts";
import { organizationScope, scopes } from "../../services/callers/scopes.ts";
import { OauthError, type OauthErrorCode } from "../http/oauth_error.ts";
import { jwtMaxLength, missing, type Parameters, tooLong, wordsOf } from "../http/parameters.ts";
import type { Brand } from "../pages/brand.ts";
import type { Client } from "./client.ts";
import { isConsole, refuseUnlikeConsole } from "./console_client.ts";
import type { DeviceRequest } from "./device_request.ts";
import { apiScopes } from "./own_api.ts";
import { wantsFactor } from "./requested_class.ts";
import { allowedScopes, namesIn, type Resource } from "./resource.ts";
import { longestResource, type Target, targetIn } from "./target.ts";

/** The response types, as requests name them. */
export type ResponseType = "code" | "id_token" | "id_token token";

export type ResponseMode = "query" | "fragment" | "form_post";

/** The proven part of a request: responses and errors may be sent to this target. */
export type ProvenRequest = {
  readonly client: Client;
  readonly redirectUri: string;
  readonly responseMode: ResponseMode;
  readonly state: string | undefined;
  /** The device that waits for the user, instead of a browser sent to the redirect URI. */
  readonly device?: DeviceRequest;
  /** The branding of the pages on the way. */
  readonly brand: Brand;
  /** The organization in which people may create an account of their own on the way. */
  readonly registersIn?: string | undefined;
  /** Whether the application pushes its requests, but did not push this one. */
  readonly isUnpushed?: boolean;
  /** The resources that the request names, as found in the application's project. */
  readonly named?: readonly (Resource | null)[];
};

/** An authentication request (OpenID Connect Core 1.0, 3.1.2.1). */
export type AuthorizationRequest = ProvenRequest & {
  readonly responseType: ResponseType | "device";
  readonly scope: string;
  /** The organization that the user signs in for; if absent, the user's own. */
  readonly organizationId: string | undefined;
  /** Whether the request is for access to our own API. */
  readonly forApi: boolean;
  /** The APIs that the request is for, if it names any: its access tokens are for one of them. */
  readonly resources: readonly Resource[];
  readonly nonce: string | undefined;
  readonly challenge: string | undefined;
  /** The key that must be proven to exchange the code, by its thumbprint (RFC 9449, 10). */
  readonly jkt: string | undefined;
  readonly prompts: readonly Prompt[];
  /** The maximum number of seconds since the user authenticated. */
  readonly maxAge: number | undefined;
  /** Whether a password alone is not enough. */
  readonly wantsFactor: boolean;
  readonly loginHint: string;
  /** An ID token of the expected user. */
  readonly idTokenHint: string | undefined;
};

export type Prompt = "none" | "login" | "consent" | "select_account" | "create";

/** The values of `prompt` that we support; `create` is from OpenID Connect's Initiating User Registration 1.0. */
export const prompts: readonly string[] = ["none", "login", "consent", "select_account", "create"] satisfies Prompt[];
const isPrompt = (word: string): word is Prompt => prompts.includes(word);

const longest: Readonly<Record<string, number>> = {
  state: 2_000,
  nonce: 500,
  scope: 1_000,
  login_hint: 200,
  id_token_hint: jwtMaxLength,
  ui_locales: 200,
};

const types: Readonly<Record<ResponseType, OidcResponseType>> = {
  code: OidcResponseType.CODE,
  id_token: OidcResponseType.ID_TOKEN,
  "id_token token": OidcResponseType.ID_TOKEN_TOKEN,
};

/** The response type in a request, with its words in any order; undefined for any other. */
export function responseTypeIn(parameters: Parameters): ResponseType | undefined {
  const words = [...wordsOf(parameters.get("response_type") ?? "")].sort().join(" ");
  return Object.hasOwn(types, words) ? (words as ResponseType) : undefined;
}

/** The response mode: the requested one if it is known and safe, otherwise the type's default. */
export function responseModeIn(parameters: Parameters): ResponseMode {
  const mode = parameters.get("response_mode");
  if (mode === "form_post" || mode === "fragment") return mode;
  const words = wordsOf(parameters.get("response_type") ?? "");
  return words.includes("id_token") || words.includes("token") ? "fragment" : "query";
}

/** Parses the request of a proven client; its errors go to the application. */
export function authorizationRequest(
  proven: ProvenRequest,
  parameters: Parameters,
  issuer: string,
): AuthorizationRequest {
  if (proven.device) return forDevice(proven, proven.device);
  refuseForm(parameters);
  const { client } = proven;
  if (proven.isUnpushed) throw invalid("the application must push its authorization requests");
  if (isConsole(client)) refuseUnlikeConsole(parameters);
  const responseType = responseTypeFor(client, parameters);
  const target = targetIn(client, parameters, { issuer, found: proven.named ?? [] });
  // RFC 9700, 2.1.2: a token that can administer the instance must not appear in the URL of a page.
  if (isFor(target) && responseType !== "code") throw invalid("resource needs the response_type code");
  const { words: scope, organizationId } = requestedScope(parameters, target);
  const nonce = parameters.get("nonce");
  if (responseType !== "code") refuseImplicit(scope, nonce);
  return {
    ...proven,
    responseType,
    scope: scope.join(" "),
    organizationId,
    ...target,
    nonce,
    challenge: challengeIn(client, responseType, parameters),
    jkt: keyIn(parameters),
    prompts: promptsIn(parameters),
    maxAge: maxAgeIn(parameters),
    wantsFactor: wantsFactor(parameters),
    loginHint: parameters.get("login_hint") ?? "",
    idTokenHint: parameters.get("id_token_hint"),
  };
}

const isFor = ({ forApi, resources }: Target): boolean => forApi || resources.length > 0;

const forDevice = (proven: ProvenRequest, device: DeviceRequest): AuthorizationRequest => ({
  ...proven,
  responseType: "device",
  scope: device.scope,
  organizationId: device.organizationId ?? undefined,
  nonce: undefined,
  challenge: undefined,
  jkt: undefined,
  prompts: [],
  maxAge: undefined,
  forApi: device.forApi,
  resources: resourcesOfDevice(device),
  wantsFactor: false,
  loginHint: "",
  idTokenHint: undefined,
});

function resourcesOfDevice({ resources }: DeviceRequest): readonly Resource[] {
  const known = (resources ?? []).filter((one) => one !== null);
  if (known.length < (resources?.length ?? 0)) throw new OauthError("invalid_target", "a resource is gone");
  return known;
}

const unsupported: Readonly<Record<string, OauthErrorCode>> = {
  request: "request_not_supported",
  request_uri: "request_uri_not_supported",
  registration: "registration_not_supported",
};

function refuseForm(parameters: Parameters): void {
  // RFC 8707, 2.
  const twice = parameters.repeated.find((name) => name !== "resource");
  if (twice !== undefined) throw invalid("a parameter appears twice");
  for (const [name, code] of Object.entries(unsupported))
    if (parameters.get(name) !== undefined) throw new OauthError(code, `${name} is not supported`);
  for (const [name, most] of Object.entries(longest))
    if ((parameters.get(name)?.length ?? 0) > most) throw tooLong(name, most);
  if (parameters.all("resource").some(({ length }) => length > longestResource))
    throw tooLong("resource", longestResource);
  const mode = parameters.get("response_mode");
  if (mode !== undefined && mode !== responseModeIn(parameters))
    throw invalid("response_mode does not fit response_type");
}

const invalid = (description: string) => new OauthError("invalid_request", description);

function responseTypeFor({ oidc }: Client, parameters: Parameters): ResponseType {
  if (parameters.get("response_type") === undefined) throw missing("response_type");
  const responseType = responseTypeIn(parameters);
  if (!responseType)
    throw new OauthError("unsupported_response_type", "response_type must be code, id_token or id_token token");
  const type = types[responseType];
  if (!oidc.responseTypes.includes(type) || !oidc.grantTypes.includes(grantTypeOf(type)))
    throw new OauthError("unauthorized_client", "the application is not registered for this response_type");
  if (responseType === "id_token token" && oidc.dpopBoundAccessTokens)
    throw new OauthError("unauthorized_client", "tokens of the application are bound to a key, which needs a code");
  return responseType;
}

function keyIn(parameters: Parameters): string | undefined {
  const jkt = parameters.get("dpop_jkt");
  if (jkt !== undefined && !/^[\w-]{43}$/.test(jkt)) throw invalid("dpop_jkt is no SHA-256 thumbprint in base64url");
  return jkt;
}

/** The first organization that a request names, before it is checked. */
export const organizationNamed = (parameters: Parameters): string | undefined =>
  wordsOf(parameters.get("scope")?.slice(0, longest.scope) ?? "")
    .find((word) => word.startsWith(organizationScope))
    ?.slice(organizationScope.length);

/** The organization that a proven request or its device names, before it is checked. */
export const organizationOfRequest = ({ device }: ProvenRequest, parameters: Parameters): string | undefined =>
  device ? (device.organizationId ?? undefined) : organizationNamed(parameters);

/**
 * The scopes of a request that have an effect (those of an API only do in requests for it), and the organization that one of them names.
 */
export function requestedScope(parameters: Parameters, { forApi, resources }: Target) {
  const known: readonly string[] = [...scopes, ...(forApi ? apiScopes : []), ...namesIn(resources)];
  const all = [...new Set(wordsOf(parameters.get("scope") ?? ""))];
  const words = all.filter((word) => known.includes(word) || word.startsWith(organizationScope));
  if (resources.length > 0 && allowedScopes({ scope: words.join(" "), resources }).length > mostAllowed)
    throw new OauthError("invalid_scope", `scope and resource ask for more than ${mostAllowed} things`);
  return { words, organizationId: organizationIn(words) };
}

/** The maximum number of scopes that one request may ask the user to allow. */
const mostAllowed = 100;

function organizationIn(scope: readonly string[]): string | undefined {
  const [named, ...others] = scope.filter((word) => word.startsWith(organizationScope));
  if (others.length > 0) throw new OauthError("invalid_scope", "scope names more than one organization");
  return named?.slice(organizationScope.length);
}

function refuseImplicit(scope: readonly string[], nonce: string | undefined): void {
  if (!scope.includes("openid")) throw new OauthError("invalid_scope", "an ID token needs the scope openid");
  // OpenID Connect Core 1.0, 3.2.2.1.
  if (nonce === undefined) throw missing("nonce");
}

/** The challenge of RFC 7636, only with S256; required for every client without a secret. */
function challengeIn({ oidc }: Client, responseType: ResponseType, parameters: Parameters): string | undefined {
  const challenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  if (challenge === undefined) {
    if (method !== undefined) throw missing("code_challenge");
    const isPublic = oidc.authMethodType === OidcAuthMethodType.NONE || oidc.appType !== OidcAppType.WEB;
    if (isPublic && responseType === "code") throw invalid("code_challenge is missing: this application needs PKCE");
    return undefined;
  }
  if (method !== "S256") throw invalid("code_challenge_method must be S256");
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) throw invalid("code_challenge is no SHA-256 in base64url");
  return challenge;
}

function promptsIn(parameters: Parameters): readonly Prompt[] {
  const words = wordsOf(parameters.get("prompt") ?? "");
  const known = words.filter(isPrompt);
  if (known.length < words.length) throw invalid("prompt has an unknown value");
  if (known.includes("none") && known.length > 1) throw invalid("prompt none stands alone");
  return known;
}

function maxAgeIn(parameters: Parameters): number | undefined {
  const text = parameters.get("max_age");
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw invalid("max_age must be a number of seconds");
  return Number(text);
}
