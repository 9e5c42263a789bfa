import type { Caller, Membership } from "../deps.ts";
import { given } from "./held_permissions.ts";
import type { Permission } from "./permissions.ts";

/** A missing permission, and the membership that would give it. */
export type Missing = { readonly permission: Permission; readonly target: Membership };

/** Finds a permission of the target memberships that a caller or user does not have in the relevant scope. */
export function uncovered(by: Pick<Caller, "memberships">, targets: readonly Membership[]): Missing | undefined {
  for (const target of targets) {
    const covering = by.memberships.filter((own) => covers(own, target)).map(given);
    const permission = [...given(target)].find((one) => !covering.some((set) => set.has(one)));
    if (permission) return { permission, target };
  }
  return undefined;
}

/** Whether a caller or user has a permission in the scope of the target membership. */
export const holdsThere = (
  { memberships }: Pick<Caller, "memberships">,
  permission: Permission,
  target: Membership,
): boolean => memberships.some((own) => covers(own, target) && given(own).has(permission));

/** Whether a permission in one scope extends to the other. */
function covers(own: Membership, target: Membership): boolean {
  if (own.scope === "instance") return true;
  if (target.scope === "instance") return false;
  if (own.scope === "organization") return own.id === target.organization;
  if (own.scope === "project") return target.scope === "project" && own.id === target.id;
  return target.scope === "project_grant" && own.id === target.id;
}
