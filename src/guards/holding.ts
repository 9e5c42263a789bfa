import type { Caller, Membership } from "../deps.ts";
import { refuse } from "../errors.ts";
import { type Permission, permissionsOf } from "./permissions.ts";

/** What authorization looks up. Owners never change, so answers may be kept; misses never are. */
export type Lookups = {
  readonly instanceId: string;
  readonly organizationExists: (id: string) => Promise<boolean>;
  readonly ownerOfUser: (id: string) => Promise<string | undefined>;
  readonly userOfSession: (id: string) => Promise<{ readonly userId: string; readonly owner: string } | undefined>;
  readonly userGrant: (id: string) => Promise<UserGrantPlace | undefined>;
  readonly membershipsOf: (userId: string) => Promise<readonly Membership[]>;
};

/** Where a user grant belongs. */
export type UserGrantPlace = {
  readonly owner: string;
  readonly projectId: string;
  readonly projectGrantId: string | null;
};

const known = new WeakMap<Membership, ReadonlySet<Permission>>();

/** The caller's memberships that give the permission. */
export function holding({ memberships }: Caller, permission: Permission): readonly Membership[] {
  return memberships.filter((membership) => given(membership).has(permission));
}

/** The permissions that a membership gives. */
export function given(membership: Membership): ReadonlySet<Permission> {
  const found = known.get(membership) ?? permissionsOf(membership.roles);
  known.set(membership, found);
  return found;
}

/** The refusal of a caller without the permission. */
export const denied = (permission: string) => refuse.because("PERMISSION_DENIED", { params: { permission } });
