import { type Call, callerOf, organizationOf } from "../../deps.ts";
import { heldIn } from "../../guards/held_permissions.ts";
import type { Permission } from "../../guards/permissions.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import type { Kind } from "../writing/offer.ts";

/** The invitations of an organization that the caller may read or change. */
export type Reached = { readonly owner: string; readonly within: Fragment };

// An invitation that another organization receives offers one thing, and callers who may give that may withdraw it, with a role on the
// object alone. An address, and any offer to it, belongs to the organization.
const needs = {
  member: { read: "member.read", write: "member.write" },
  user_grant: { read: "user.grant.read", write: "user.grant.write" },
  project_grant: { read: "project.read", write: "project.grant.write" },
} as const satisfies Record<Kind, object>;

/** Finds the invitations `v` of the organization worked in that are within the caller's permissions. */
export function reached(sql: Sql, call: Call, verb: "read" | "write"): Reached {
  const owner = organizationOf(call);
  const held = (permission: Permission) => heldIn(callerOf(call), owner, [permission]);
  if (held(`user.${verb}`).isWhole) return { owner, within: sql`true` };
  return { owner, within: sql`(${of("member")} or ${of("user_grant")} or ${of("project_grant")})` };

  function of(kind: Kind): Fragment {
    const { isWhole, projects, projectGrants } = held(needs[kind][verb]);
    if (isWhole) return sql`v.kind = ${kind}`;
    return sql`v.kind = ${kind} and case when v.project_grant_id is null
      then v.project_id = any(${[...projects]}::text[]) else v.project_grant_id = any(${[...projectGrants]}::text[]) end`;
  }
}
