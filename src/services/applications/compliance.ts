import type { OidcConfiguration } from "../../../gen/postern/v1/application_pb.ts";
import {
  OidcAppType,
  OidcAuthMethodType,
  OidcGrantType,
  OidcResponseType,
} from "../../../gen/postern/v1/application_pb.ts";
import { type ComplianceKey, type Language, text } from "../../messages/catalogue.ts";
import { isDangerous, isLoopback, schemeOf } from "./web_origin.ts";

/** An invalid field of a configuration, with the URI if it holds one. */
export type FieldAtFault = { readonly path: string; readonly uri?: string };

/** A rule that a configuration breaks, with every field that breaks it. */
export type Problem = { readonly key: ComplianceKey; readonly fields: readonly FieldAtFault[] };

/** Finds every rule that an application's configuration breaks, in the order of the table. */
export function problemsOf(oidc: OidcConfiguration, hasKey = false): Problem[] {
  const uris = uriLists.flatMap((list) => (isUsed(list, oidc) ? redirects(list, oidc) : []));
  return rules
    .filter((rule) => applies(rule, oidc))
    .map(({ key, broken }) => ({ key, fields: broken(oidc, uris, hasKey) }))
    .filter(({ fields }) => fields.length > 0);
}

/** Makes a search for the rule that one URI of a configuration breaks, among the rules with these keys. */
export function brokenByUri(isWanted: (key: ComplianceKey) => boolean) {
  const wanted = rules.filter(({ key }) => isWanted(key));
  return (oidc: OidcConfiguration, list: UriList, uri: string): ComplianceKey | undefined => {
    if (!isUsed(list, oidc)) return undefined;
    const alone = [{ list, path: list, uri, kind: kindOf(uri), repeated: false }];
    return wanted.find((rule) => applies(rule, oidc) && rule.broken(oidc, alone, true).length > 0)?.key;
  };
}

const applies = ({ inDevMode }: Rule, { devMode }: OidcConfiguration): boolean => inDevMode || !devMode;

// Sign-out works with every flow.
const isUsed = (list: UriList, oidc: OidcConfiguration): boolean =>
  list === "postLogoutRedirectUris" || !isDeviceOnly(oidc);

export const complianceOf = (oidc: OidcConfiguration, language: Language, hasKey = false) =>
  described(problemsOf(oidc, hasKey), language);

/** Finds the rules that an API application breaks, which has nothing to check but its authentication method. */
export const apiProblemsOf = (oidc: OidcConfiguration, hasKey: boolean): Problem[] =>
  problemsOf(oidc, hasKey).filter(({ key }) => key === "PRIVATE_KEY_JWT_WITHOUT_KEY");

export const apiComplianceOf = (oidc: OidcConfiguration, language: Language, hasKey: boolean) =>
  described(apiProblemsOf(oidc, hasKey), language);

function described(problems: readonly Problem[], language: Language) {
  const complianceProblems = problems.map(({ key, fields }) => ({
    key,
    localizedMessage: text(key, language, { uris: listed(fields) }),
  }));
  return { noneCompliant: complianceProblems.length > 0, complianceProblems };
}

/** Whether the device flow is the only one, so that no redirect URI is used. */
export const isDeviceOnly = ({ grantTypes }: Pick<OidcConfiguration, "grantTypes">): boolean =>
  grantTypes.includes(DEVICE_CODE) && !grantTypes.includes(AUTHORIZATION_CODE) && !grantTypes.includes(IMPLICIT);

type Kind = "https" | "http" | "loopback" | "custom" | "relative" | "dangerous";

const uriLists = ["redirectUris", "postLogoutRedirectUris"] as const;

/** The lists of URIs that users may be redirected to after sign-in and after sign-out. */
export type UriList = (typeof uriLists)[number];

type Redirect = {
  readonly list: UriList;
  readonly path: string;
  readonly uri: string;
  readonly kind: Kind;
  /** Whether the same URI appears earlier in its list. */
  readonly repeated: boolean;
};

type Rule = {
  readonly key: ComplianceKey;
  /** Whether the rule applies in development mode too. */
  readonly inDevMode: boolean;
  readonly broken: (oidc: OidcConfiguration, uris: readonly Redirect[], hasKey: boolean) => readonly FieldAtFault[];
};

const { AUTHORIZATION_CODE, IMPLICIT, REFRESH_TOKEN, DEVICE_CODE } = OidcGrantType;
const { WEB, USER_AGENT, NATIVE } = OidcAppType;

const { NONE, PRIVATE_KEY_JWT } = OidcAuthMethodType;

// A logout transmits neither code nor token: fragments are for the client's router, and the rules about http and flows do not apply.
const rules: readonly Rule[] = [
  { key: "NO_REDIRECT_URIS", inDevMode: true, broken: at("redirectUris", lacksRedirectUris) },
  {
    key: "HTTP_ON_USER_AGENT",
    inDevMode: false,
    broken: each((to, { appType }) => appType === USER_AGENT && isHttp(to)),
  },
  { key: "HTTP_ON_PUBLIC_WEB", inDevMode: false, broken: each((to, oidc) => isSignIn(to) && leaksCodes(to, oidc)) },
  {
    key: "HTTP_ON_CONFIDENTIAL_WEB",
    inDevMode: false,
    broken: each((to, oidc) => isSignIn(to) && showsCodes(to, oidc)),
  },
  {
    key: "CUSTOM_SCHEME_ON_WEB",
    inDevMode: false,
    broken: each(({ kind }, { appType }) => appType === WEB && kind === "custom"),
  },
  {
    key: "CUSTOM_SCHEME_ON_USER_AGENT",
    inDevMode: false,
    broken: each(({ kind }, { appType }) => appType === USER_AGENT && kind === "custom"),
  },
  {
    key: "NATIVE_HTTP_NOT_LOOPBACK",
    inDevMode: false,
    broken: each(({ kind }, { appType }) => appType === NATIVE && kind === "http"),
  },
  {
    // RFC 8252, 7.1: a private-use scheme is a reversed domain name, so that no other application claims it.
    key: "NATIVE_SCHEME_WITHOUT_DOT",
    inDevMode: false,
    broken: each(
      ({ kind, uri }, { appType }) => appType === NATIVE && kind === "custom" && !schemeOf(uri)?.includes("."),
    ),
  },
  {
    key: "IMPLICIT_CUSTOM_OR_HTTP",
    inDevMode: false,
    broken: each((to, oidc) => isSignIn(to) && leaksTokens(to, oidc)),
  },
  { key: "IMPLICIT_ACCESS_TOKEN", inDevMode: true, broken: tokensInUrls },
  {
    key: "USER_AGENT_WITH_AUTH_METHOD",
    inDevMode: true,
    broken: at("authMethodType", ({ appType, authMethodType }) => appType === USER_AGENT && authMethodType !== NONE),
  },
  {
    key: "NATIVE_WITH_AUTH_METHOD",
    inDevMode: true,
    broken: at("authMethodType", ({ appType, authMethodType }) => appType === NATIVE && authMethodType !== NONE),
  },
  {
    key: "PRIVATE_KEY_JWT_WITHOUT_KEY",
    inDevMode: true,
    broken: ({ authMethodType }, _uris, hasKey) =>
      authMethodType === PRIVATE_KEY_JWT && !hasKey ? [{ path: "authMethodType" }] : [],
  },
  { key: "REFRESH_WITHOUT_CODE_OR_DEVICE", inDevMode: true, broken: strayRefresh },
  { key: "CLOCK_SKEW_TOO_LONG", inDevMode: true, broken: at("clockSkew", isSkewLong) },
  {
    key: "BACK_CHANNEL_LOGOUT_URI_UNUSABLE",
    inDevMode: true,
    broken: ({ backChannelLogoutUri: uri }) =>
      uri === "" || isBackChannelUri(uri) ? [] : [{ path: "backChannelLogoutUri", uri }],
  },
  { key: "REDIRECT_URI_FRAGMENT", inDevMode: true, broken: each((to) => isSignIn(to) && to.uri.includes("#")) },
  { key: "REDIRECT_URI_WILDCARD", inDevMode: true, broken: each(({ uri }) => hasWildcard(uri)) },
  { key: "REDIRECT_URI_RELATIVE", inDevMode: true, broken: each(({ kind }) => kind === "relative") },
  { key: "REDIRECT_URI_USER_INFORMATION", inDevMode: true, broken: each(hasUserInformation) },
  { key: "REDIRECT_URI_DUPLICATE", inDevMode: true, broken: each(({ repeated }) => repeated) },
  { key: "DANGEROUS_SCHEME", inDevMode: true, broken: each(({ kind }) => kind === "dangerous") },
];

function at(path: string, stands: (oidc: OidcConfiguration) => boolean): Rule["broken"] {
  return (oidc) => (stands(oidc) ? [{ path }] : []);
}

function each(stands: (to: Redirect, oidc: OidcConfiguration) => boolean): Rule["broken"] {
  return (oidc, uris) => uris.filter((to) => stands(to, oidc));
}

function lacksRedirectUris(oidc: OidcConfiguration): boolean {
  return oidc.redirectUris.length === 0 && !isDeviceOnly(oidc);
}

// OpenID Connect Core 1.0, 3.1.2.1: with the code flow, only confidential clients may use http.
function leaksCodes(to: Redirect, { appType, authMethodType, grantTypes }: OidcConfiguration): boolean {
  return appType === WEB && authMethodType === NONE && grantTypes.includes(AUTHORIZATION_CODE) && isHttp(to);
}

// RFC 9700, 2.6: codes of confidential clients must not cross a network in the clear either.
function showsCodes({ kind }: Redirect, { appType, authMethodType, grantTypes }: OidcConfiguration): boolean {
  return appType === WEB && authMethodType !== NONE && grantTypes.includes(AUTHORIZATION_CODE) && kind === "http";
}

// RFC 9700, 2.1.2: access tokens in URLs leak and can be injected.
function tokensInUrls({ responseTypes }: OidcConfiguration): FieldAtFault[] {
  const index = responseTypes.indexOf(OidcResponseType.ID_TOKEN_TOKEN);
  return index < 0 ? [] : [{ path: `responseTypes[${index}]` }];
}

// OpenID Connect Core 1.0, 3.2.2.1: with the implicit flow, only native applications may use http, on the loopback address.
function leaksTokens({ kind }: Redirect, { appType, grantTypes }: OidcConfiguration): boolean {
  const safe = kind === "loopback" && appType === NATIVE;
  return grantTypes.includes(IMPLICIT) && !safe && ["custom", "http", "loopback"].includes(kind);
}

function strayRefresh({ grantTypes }: OidcConfiguration): FieldAtFault[] {
  const index = grantTypes.indexOf(REFRESH_TOKEN);
  const carried = grantTypes.includes(AUTHORIZATION_CODE) || grantTypes.includes(DEVICE_CODE);
  return index < 0 || carried ? [] : [{ path: `grantTypes[${index}]` }];
}

const mostSkewSeconds = 5n;

function isSkewLong({ clockSkew }: OidcConfiguration): boolean {
  const { seconds = 0n, nanos = 0 } = clockSkew ?? {};
  return seconds > mostSkewSeconds || (seconds === mostSkewSeconds && nanos > 0);
}

/** Whether logout tokens can be sent to a URI: it uses https and has neither user information nor a fragment. */
export const isBackChannelUri = (uri: string): boolean =>
  kindOf(uri) === "https" && !uri.includes("#") && !hasWildcard(uri) && !/^https:\/\/[^/?#]*@/i.test(uri);

// A relative or dangerous URI has no authority to check.
function hasUserInformation({ kind, uri }: Redirect): boolean {
  return kind !== "relative" && kind !== "dangerous" && /^[^:/?#]+:\/\/[^/?#]*@/.test(uri);
}

const isSignIn = ({ list }: Redirect) => list === "redirectUris";

const isHttp = ({ kind }: Redirect) => kind === "http" || kind === "loopback";

function redirects(list: UriList, oidc: OidcConfiguration): Redirect[] {
  const seen = new Set<string>();
  return oidc[list].map((uri, index) => {
    const repeated = seen.has(uri);
    seen.add(uri);
    return { list, path: `${list}[${index}]`, uri, kind: kindOf(uri), repeated };
  });
}

// Browsers and servers disagree on characters that no URI may contain, so a text with one does not count as absolute.
const foreign = /[\s\p{Cc}\p{Cf}\\<>"]/u;

// `localhost:3000/callback` parses as a URI with the scheme localhost, which nobody means.
const hostWithPort = /^[a-z0-9.-]+:\d+(?:[/?#]|$)/i;

function kindOf(uri: string): Kind {
  if (isDangerous(uri)) return "dangerous";
  const scheme = schemeOf(uri);
  if (scheme === undefined || foreign.test(uri) || hostWithPort.test(uri)) return "relative";
  if (scheme !== "http" && scheme !== "https") return "custom";
  if (!/^https?:\/\/[^/?#]/i.test(uri) || !URL.canParse(uri)) return "relative";
  if (scheme === "https") return "https";
  return isLoopback(uri) ? "loopback" : "http";
}

// The URL parser decodes forms that hide a wildcard in a host: percent-encoding and full-width characters.
function hasWildcard(uri: string): boolean {
  return uri.includes("*") || (URL.canParse(uri) && new URL(uri).hostname.includes("*"));
}

const shownUris = 5;
const shownCharacters = 200;

function listed(fields: readonly FieldAtFault[]): string {
  const shown = fields.slice(0, shownUris).map(({ uri = "", path }) => `${printable(uri)} (${path})`);
  const more = fields.length - shown.length;
  return [...shown, ...(more > 0 ? [`… (+${more})`] : [])].join(", ");
}

function printable(uri: string): string {
  const characters = [...uri];
  const shown = characters.slice(0, shownCharacters).join("");
  const visible = shown.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`,
  );
  return characters.length > shownCharacters ? `${visible}…` : visible;
}
