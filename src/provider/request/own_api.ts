import { type Permission, permissions } from "../../guards/permissions.ts";
import { paths } from "../http/paths.ts";

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
