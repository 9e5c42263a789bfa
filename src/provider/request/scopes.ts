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

/** The prefix of the scope that names an organization. */
export const organizationScope = "urn:postern:organization:id:";
