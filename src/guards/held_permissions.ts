import type { Caller, Membership } from "../deps.ts";
import { refuse } from "../errors.ts";
import { type Permission, permissionsOf } from "./permissions.ts";

/** The lookups of authorization. Owners never change, so found ones may be cached; misses never are. */
export type Lookups = {
  readonly instanceId: string;
  readonly organizationExists: (id: string) => Promise<boolean>;
  readonly ownerOfUser: (id: string) => Promise<string | undefined>;
  /** The owner of a user who may be deleted, in an organization that may be, too. */
  readonly ownerOfAnyUser: (id: string) => Promise<string | undefined>;
  readonly userOfLoginName: (
    name: LoginName,
  ) => Promise<{ readonly userId: string; readonly owner: string } | undefined>;
  readonly userOfSession: (id: string) => Promise<{ readonly userId: string; readonly owner: string } | undefined>;
  readonly userGrant: (id: string) => Promise<UserGrantPlace | undefined>;
  readonly membershipsOf: (userId: string) => Promise<readonly Membership[]>;
  /** Whether the session of a user began recently enough for a fresh sign-in; always true for machines, which do not sign in. */
  readonly signedInFreshly: (of: {
    readonly userId: string;
    readonly sessionId: string | undefined;
  }) => Promise<boolean>;
};

/** A login name, and the organization that it is looked up in; if empty, the directory of the instance. */
type LoginName = { readonly loginName: string; readonly organizationId: string };

/** The owner of a user grant and its project. */
export type UserGrantPlace = {
  readonly owner: string;
  readonly projectId: string;
  readonly projectGrantId: string | null;
};

/** The reach of permissions in an organization. */
export type Holding = {
  /** In every organization. */
  readonly isEverywhere: boolean;
  /** In the whole organization. */
  readonly isWhole: boolean;
  /** At least for one object that the organization has or was granted. */
  readonly isAnywhere: boolean;
  readonly projects: readonly string[];
  readonly projectGrants: readonly string[];
};

/** Finds the reach of the caller's permissions in an organization, where any one of them is enough. */
export function heldIn(caller: Caller, organization: string, permissions: readonly Permission[]): Holding {
  const held = permissions
    .flatMap((permission) => holding(caller, permission))
    .filter((one) => one.scope === "instance" || one.organization === organization);
  const ids = (wanted: Membership["scope"]) => held.filter(({ scope }) => scope === wanted).map(({ id }) => id);
  const isEverywhere = held.some(({ scope }) => scope === "instance");
  return {
    isEverywhere,
    isWhole: isEverywhere || held.some(({ scope }) => scope === "organization"),
    isAnywhere: held.length > 0,
    projects: ids("project"),
    projectGrants: ids("project_grant"),
  };
}

const known = new WeakMap<Membership, ReadonlySet<Permission>>();

/** Finds the caller's memberships that give the permission. */
export function holding({ memberships }: Caller, permission: Permission): readonly Membership[] {
  return memberships.filter((membership) => given(membership).has(permission));
}

/** The permissions that a membership gives; for a limited access token, only those in its list. */
export function given(membership: Membership): ReadonlySet<Permission> {
  const found = known.get(membership) ?? limited(permissionsOf(membership.roles), membership.only);
  known.set(membership, found);
  return found;
}

/** The permissions that one role gives; for a limited access token, only those in its list. */
export const permissionsGiven = (role: string, only?: readonly string[]): string[] => [
  ...limited(permissionsOf([role]), only),
];

const limited = (all: ReadonlySet<Permission>, only: readonly string[] | undefined): ReadonlySet<Permission> =>
  only ? new Set([...all].filter((permission) => only.includes(permission))) : all;

export const denied = (permission: string) => refuse.because("PERMISSION_DENIED", { params: { permission } });

/**
 * Refuses a token that is limited to other permissions than one that every role has with the list: a filter reveals the values that it
 * compares to callers who guess.
 */
export function refuseLimited(caller: Caller, permission: Permission): void {
  if (caller.isLimited && holding(caller, permission).length === 0) throw denied(permission);
}
