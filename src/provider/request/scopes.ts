/** The scope that asks for the roles of all organizations, and the claim that has them. */
export const allRolesScope = "urn:postern:project:roles";

/** The scopes that have an effect, besides the one that names an organization. */
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

/** The beginning of the scope that names an organization. */
export const organizationScope = "urn:postern:organization:id:";
