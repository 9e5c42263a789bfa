import { create, type Message } from "@bufbuild/protobuf";
import {
  type CreateOidcApplicationRequest,
  type OidcConfiguration,
  OidcConfigurationSchema,
  OidcGrantType,
  OidcResponseType,
} from "../../../gen/postern/v1/application_pb.ts";
import type { Violation } from "../../errors.ts";
import { isDeviceOnly } from "./compliance.ts";
import { declaredViolations } from "./declared_claim.ts";
import { originFault, originOf } from "./web_origin.ts";

export const configurationOf = (request: CreateOidcApplicationRequest): OidcConfiguration =>
  completed({ ...request, additionalOrigins: originsOf(request.additionalOrigins) });

export function completed(settings: Settings): OidcConfiguration {
  const { clockSkew, accessTokenLifetime, idTokenLifetime, refreshTokenIdleLifetime, refreshTokenLifetime } = settings;
  return create(OidcConfigurationSchema, {
    ...flowOf(settings),
    redirectUris: settings.redirectUris,
    appType: settings.appType,
    authMethodType: settings.authMethodType,
    postLogoutRedirectUris: settings.postLogoutRedirectUris,
    version: settings.version,
    devMode: settings.devMode,
    accessTokenType: settings.accessTokenType,
    accessTokenRoleAssertion: settings.accessTokenRoleAssertion,
    idTokenRoleAssertion: settings.idTokenRoleAssertion,
    idTokenUserinfoAssertion: settings.idTokenUserinfoAssertion,
    additionalOrigins: settings.additionalOrigins,
    skipNativeAppSuccessPage: settings.skipNativeAppSuccessPage,
    idTokenAlgorithm: settings.idTokenAlgorithm,
    backChannelLogoutUri: settings.backChannelLogoutUri,
    firstParty: settings.firstParty,
    declaredClaims: settings.declaredClaims,
    requirePushedAuthorizationRequests: settings.requirePushedAuthorizationRequests,
    dpopBoundAccessTokens: settings.dpopBoundAccessTokens,
    ...(clockSkew ? { clockSkew } : {}),
    ...(accessTokenLifetime ? { accessTokenLifetime } : {}),
    ...(idTokenLifetime ? { idTokenLifetime } : {}),
    ...(refreshTokenIdleLifetime ? { refreshTokenIdleLifetime } : {}),
    ...(refreshTokenLifetime ? { refreshTokenLifetime } : {}),
  } satisfies Settings);
}

export const originsOf = (origins: readonly string[]): string[] => [...new Set(origins.map(originOf))];

type Settings = Omit<OidcConfiguration, keyof Message>;

type Flow = Pick<OidcConfiguration, "responseTypes" | "grantTypes">;

const { AUTHORIZATION_CODE, IMPLICIT } = OidcGrantType;
const { CODE } = OidcResponseType;

/**
 * Completes the types of a flow (RFC 7591, 2): a client that names no response type means the code flow, and each response type implies its
 * grant type.
 */
export function flowOf({ responseTypes, grantTypes }: Flow): Flow {
  if (responseTypes.length === 0 && grantTypes.length === 0)
    return { responseTypes: [CODE], grantTypes: [AUTHORIZATION_CODE] };
  if (responseTypes.length === 0)
    return { responseTypes: grantTypes.includes(AUTHORIZATION_CODE) ? [CODE] : [], grantTypes };
  if (grantTypes.length > 0) return { responseTypes, grantTypes };
  const needed = new Set(responseTypes.map(grantTypeOf));
  return { responseTypes, grantTypes: [AUTHORIZATION_CODE, IMPLICIT].filter((type) => needed.has(type)) };
}

export const grantTypeOf = (type: OidcResponseType) => (type === CODE ? AUTHORIZATION_CODE : IMPLICIT);

/** Finds response types and grant types that do not match; `path` leads to them in the request. */
export function flowViolations({ responseTypes, grantTypes }: Flow, path = ""): Violation[] {
  // Other servers store CODE for device-flow applications, which never use the authorization endpoint.
  const isIdle = (type: OidcResponseType) => type === CODE && isDeviceOnly({ grantTypes });
  const uncovered = responseTypes.flatMap((type, index): Violation[] => {
    const needed = grantTypeOf(type);
    return grantTypes.includes(needed) || isIdle(type)
      ? []
      : [{ field: `${path}responseTypes[${index}]`, text: "FLOW_NEEDS_GRANT", params: grantName[needed], reason }];
  });
  const implicit = responseTypes.length === 0 ? grantTypes.indexOf(IMPLICIT) : -1;
  return implicit < 0 ? uncovered : [{ field: `${path}grantTypes[${implicit}]`, text: "FLOW_NEEDS_TOKEN", reason }];
}

const reason = "FLOW_INCOMPLETE";
const grantName = {
  [AUTHORIZATION_CODE]: { grant: "AUTHORIZATION_CODE" },
  [IMPLICIT]: { grant: "IMPLICIT" },
} as const;

/** Finds malformed durations and origins; `path` leads to them in the request. */
export function settingViolations(settings: Checked, path = ""): Violation[] {
  const violations = [
    ...[...skewViolations(settings), ...lifetimeViolations(settings), ...originViolations(settings)],
    ...declaredViolations(settings),
  ];
  return violations.map(({ field, ...rest }) => ({ field: `${path}${field}`, ...rest }));
}

const lifetimes = [
  "accessTokenLifetime",
  "idTokenLifetime",
  "refreshTokenIdleLifetime",
  "refreshTokenLifetime",
] as const;

type Checked = Pick<Settings, "clockSkew" | "additionalOrigins" | "declaredClaims" | (typeof lifetimes)[number]>;

const longestSeconds = 315_576_000_000n;

function skewViolations({ clockSkew }: Pick<Settings, "clockSkew">): Violation[] {
  if (!clockSkew) return [];
  const { seconds, nanos } = clockSkew;
  const valid = seconds >= 0n && seconds <= longestSeconds && nanos >= 0 && nanos < 1_000_000_000;
  return valid ? [] : [{ field: "clockSkew", text: "VALUE_DURATION_POSITIVE", reason: "DURATION_MALFORMED" }];
}

/** Clients learn lifetimes in whole seconds (RFC 6749, 5.1). */
function lifetimeViolations(settings: Checked): Violation[] {
  return lifetimes
    .filter((field) => settings[field] && settings[field].nanos !== 0)
    .map((field) => ({ field, text: "VALUE_DURATION_WHOLE", reason: "DURATION_MALFORMED" }));
}

function originViolations({ additionalOrigins }: Pick<Settings, "additionalOrigins">): Violation[] {
  return additionalOrigins.flatMap((origin, index) => {
    const text = originFault(origin);
    return text ? [{ field: `additionalOrigins[${index}]`, text, reason: "ORIGIN_MALFORMED" }] : [];
  });
}
