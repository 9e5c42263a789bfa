import { OidcGrantType } from "../../../gen/postern/v1/application_pb.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { Client } from "./client.ts";

/**
 * The grant types by their names in requests and in the discovery document, each with the one that applications are registered for; null
 * for those of machines alone.
 */
const grantTypes = {
  authorization_code: OidcGrantType.AUTHORIZATION_CODE,
  implicit: OidcGrantType.IMPLICIT,
  refresh_token: OidcGrantType.REFRESH_TOKEN,
  "urn:ietf:params:oauth:grant-type:device_code": OidcGrantType.DEVICE_CODE,
  client_credentials: null,
  "urn:ietf:params:oauth:grant-type:jwt-bearer": null,
  "urn:ietf:params:oauth:grant-type:token-exchange": null,
} as const satisfies Readonly<Record<string, OidcGrantType | null>>;

export type GrantType = keyof typeof grantTypes;

export const isGrantType = (name: string): name is GrantType => Object.hasOwn(grantTypes, name);

/** Whether an application is registered for a grant type. */
export function isRegisteredFor({ oidc }: Pick<Client, "oidc">, name: GrantType): boolean {
  const type = grantTypes[name];
  return type !== null && oidc.grantTypes.includes(type);
}

/** Fails for an application that is not registered for a grant type. */
export function refuseGrantType(client: Pick<Client, "oidc">, name: GrantType): void {
  if (!isRegisteredFor(client, name))
    throw new OauthError("unauthorized_client", "the application is not registered for this grant type");
}
