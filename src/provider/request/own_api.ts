import { type Permission, permissions } from "../../guards/permissions.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import type { Client } from "./client.ts";

/** The URL of our API's protected resource metadata (RFC 9728, 3); undefined without an issuer. */
export const resourceMetadataOf = (issuer: string | undefined): string | undefined =>
  issuer === undefined ? undefined : issuer + paths.resource;

/** The scopes of our API: its permissions, by name. */
export const apiScopes: readonly Permission[] = permissions;

/** Describes our API to applications: its authorization server and its scopes. */
export const resourceMetadata = (issuer: string) => ({
  resource: issuer,
  authorization_servers: [issuer],
  scopes_supported: apiScopes,
  bearer_methods_supported: ["header"],
  resource_name: "Postern",
});

const invalid = (description: string) => new OauthError("invalid_target", description);

/** Whether a request asks for access to our API (RFC 8707, 2). Fails for any other resource, and for applications that may not ask. */
export function asksForApi(client: Client, parameters: Parameters, issuer: string): boolean {
  const resource = parameters.get("resource");
  if (resource === undefined) return false;
  if (resource !== issuer && resource !== `${issuer}/`) throw invalid(`the only resource is ${issuer}`);
  if (!client.oidc.firstParty) throw invalid("the application is not marked as first-party");
  return true;
}

/** Fails if a token request names our API but the sign-in was not for it, and if another application requests tokens for it. */
export function refuseTarget(
  client: Client,
  { forApi }: { readonly forApi: boolean },
  request: { form: Parameters; issuer: string },
): void {
  const asks = asksForApi(client, request.form, request.issuer);
  if (asks && !forApi) throw invalid("the authorization request did not name the resource");
  if (forApi && !client.oidc.firstParty) throw invalid("the application is no longer marked as first-party");
}
