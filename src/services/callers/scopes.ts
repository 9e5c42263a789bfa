import { permissions } from "../../guards/permissions.ts";

/** The scope that asks for the roles from all organizations, and the claim that contains them. */
export const allRolesScope = "urn:postern:project:roles";

/** The scopes that have an effect, apart from the one that names an organization. */
export const scopes = [
  "openid",
  "profile",
  "email",
  "phone",
  "address",
  "roles",
  allRolesScope,
  "offline_access",
] as const;

/** The prefix of the scope that names the project of a machine's token. */
export const projectScope = "urn:postern:project:id:";

/** The prefix of the scope that names an organization. */
export const organizationScope = "urn:postern:organization:id:";

const reserved: ReadonlySet<string> = new Set([...scopes, ...permissions]);

/** Whether the name of a scope is reserved, so that no API may declare it: it is one of ours, or looks like one. */
export const isReservedScope = (name: string): boolean =>
  reserved.has(name.toLowerCase()) || name.toLowerCase().startsWith("urn:");
