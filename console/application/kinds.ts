import type { ApplicationJson, CreateOidcApplicationRequestJson } from "../../gen/postern/v1/application_pb.ts";

/** The kinds of applications, as people tell them apart. */
export const kinds = ["web", "page", "native", "device", "api"] as const;
export type Kind = (typeof kinds)[number];

/** The kind of an application, by its configuration. */
export function kindOf({ api, oidc }: ApplicationJson): Kind {
  if (api) return "api";
  if (oidc?.grantTypes?.includes("OIDC_GRANT_TYPE_DEVICE_CODE") && oidc.redirectUris?.length === 0) return "device";
  return oidc?.appType === "OIDC_APP_TYPE_WEB" ? "web" : oidc?.appType === "OIDC_APP_TYPE_NATIVE" ? "native" : "page";
}

/** The protocol settings of each kind of application. */
export const shapes: Readonly<
  Record<Exclude<Kind, "api">, Pick<CreateOidcApplicationRequestJson, "appType" | "authMethodType" | "grantTypes">>
> = {
  web: {
    appType: "OIDC_APP_TYPE_WEB",
    authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
    grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
  },
  page: {
    appType: "OIDC_APP_TYPE_USER_AGENT",
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
    grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
  },
  native: {
    appType: "OIDC_APP_TYPE_NATIVE",
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
    grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
  },
  device: {
    appType: "OIDC_APP_TYPE_NATIVE",
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
    grantTypes: ["OIDC_GRANT_TYPE_DEVICE_CODE"],
  },
};

const authMethodOf = ({ oidc, api }: ApplicationJson): string => oidc?.authMethodType ?? api?.authMethodType ?? "";

/** Whether an application authenticates with a secret. */
export const hasSecret = (application: ApplicationJson): boolean => /_(BASIC|POST)$/.test(authMethodOf(application));

/** Whether it authenticates with signatures. */
export const hasKeys = (application: ApplicationJson): boolean =>
  authMethodOf(application).endsWith("_PRIVATE_KEY_JWT");
