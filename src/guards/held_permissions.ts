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
  /** Whether the caller may change its own account: people after a fresh sign-in, machines always. */
  readonly signedInFreshly: (caller: Caller) => Promise<boolean>;
};

/** A login name, and the organization that it is looked up in; if empty, the directory of the instance. */
type LoginName = { readonly loginName: string; readonly organizationId: string };

/** The owner of a user grant and its project. */
export type UserGrantPlace = {
  readonly owner: string;
  readonly projectId: string;
  readonly projectGrantId: string | null;
};

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

const limited = (all: ReadonlySet<Permission>, only: readonly string[] | undefined): ReadonlySet<Permission> =>
  only ? new Set([...all].filter((permission) => only.includes(permission))) : all;

export const denied = (permission: string) => refuse.because("PERMISSION_DENIED", { params: { permission } });

/**
 * Refuses a token that is limited to other permissions than one that every role has with the list: a filter tells whoever guesses what it
 * compares.
 */
export function refuseLimited(caller: Caller, permission: Permission): void {
  if (caller.isLimited && holding(caller, permission).length === 0) throw denied(permission);
}
