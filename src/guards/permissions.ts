export const permissions = [
  "instance.read",
  "instance.write",
  "org.read",
  "org.write",
  "org.metadata.read",
  "org.metadata.write",
  "user.read",
  "user.write",
  "user.erase",
  "user.export",
  "user.metadata.read",
  "user.metadata.write",
  "user.grant.read",
  "user.grant.write",
  "project.read",
  "project.write",
  "project.grant.write",
  "role.write",
  "app.read",
  "app.write",
  "member.read",
  "member.write",
  "policy.read",
  "policy.write",
  "event.read",
  "subscription.read",
  "subscription.write",
  "domain.read",
  "domain.write",
  "authorization.evaluate",
] as const;

export type Permission = (typeof permissions)[number];

const every = (wanted: (permission: Permission) => boolean): ReadonlySet<Permission> =>
  new Set(permissions.filter(wanted));
const these = (...wanted: Permission[]): ReadonlySet<Permission> => new Set(wanted);
// Applications may rely on what the owners of the instance note about an organization, so its own owners cannot write that.
const ofInstance = (permission: Permission) =>
  permission.startsWith("instance.") || permission === "org.metadata.write";
const reads = (permission: Permission) => permission.endsWith(".read") || permission === "authorization.evaluate";

/** The roles, and the permissions that each gives in its scope. */
export const roles = {
  INSTANCE_OWNER: every(() => true),
  INSTANCE_VIEWER: every(reads),
  ORG_OWNER: every((permission) => !ofInstance(permission)),
  ORG_USER_MANAGER: these(
    "org.read",
    "org.metadata.read",
    "user.read",
    "user.write",
    "user.metadata.read",
    "user.metadata.write",
    "user.grant.read",
    "user.grant.write",
    "project.read",
    "authorization.evaluate",
  ),
  ORG_VIEWER: every((permission) => reads(permission) && !ofInstance(permission)),
  PROJECT_OWNER: these(
    "project.read",
    "project.write",
    "role.write",
    "project.grant.write",
    "app.read",
    "app.write",
    "user.grant.read",
    "user.grant.write",
    "member.read",
    "member.write",
    "authorization.evaluate",
  ),
  PROJECT_GRANT_OWNER: these(
    "project.read",
    "user.grant.read",
    "user.grant.write",
    "member.read",
    "member.write",
    "authorization.evaluate",
  ),
  // For applications that only read who has which role.
  PROJECT_VIEWER: these("project.read", "user.grant.read", "authorization.evaluate"),
  PROJECT_GRANT_VIEWER: these("project.read", "user.grant.read", "authorization.evaluate"),
  // For applications that only ask whether a user has a role.
  PROJECT_EVALUATOR: these("authorization.evaluate"),
} as const satisfies Record<string, ReadonlySet<Permission>>;

export type Role = keyof typeof roles;

/** The combined permissions of several roles; an unknown role gives none. */
export function permissionsOf(held: readonly string[]): ReadonlySet<Permission> {
  return new Set(held.flatMap((role) => (role in roles ? [...roles[role as Role]] : [])));
}

export const isPermission = (text: string): text is Permission => permissions.some((permission) => permission === text);
