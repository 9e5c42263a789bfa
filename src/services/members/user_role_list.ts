import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { UserGrantState } from "../../../gen/postern/v1/user_grant_pb.ts";
import { RoleKind } from "../../../gen/postern/v1/user_role_pb.ts";
import { details, type Versioned } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { roleKindName } from "../callers/ended_roles.ts";
import { grantIsLeft, grantShutBy, membershipIsLeft } from "../callers/in_force.ts";
import type { PagePart } from "../reading/page.ts";

type RolesRow = Versioned & {
  readonly kind: RoleKind;
  readonly scope: string | null;
  readonly roles: readonly string[];
  readonly organizationName: string | null;
  readonly projectId: string | null;
  readonly projectGrantId: string | null;
  readonly projectOwner: string | null;
  /** Whether the user grant itself is active; null for a membership. */
  readonly active: boolean | null;
  readonly expirationDate: Date | null;
  readonly inEffect: boolean;
  readonly isMatch: boolean;
};

/** Reads a page of a user's memberships and user grants, using the indexes that are in that order. */
export function rolesOf(sql: Sql, userId: string, { after, limit }: PagePart) {
  const [owner = "", id = ""] = after ?? [];
  return sql<RolesRow[]>`
    select r.kind, r.owner, r.id, r.version, r.created, r.changed, r.scope, h.name as "organizationName",
      r."projectGrantId", coalesce(r."projectId", p.project_id) as "projectId", q.owner as "projectOwner", r.active, r."expirationDate",
      r."isShut" is not true and h.active is not false as "inEffect",
      coalesce(r.roles, array(
        select k.role_key from user_grant_roles k where k.user_grant_id = r.id order by k.role_key)) as roles,
      h.deleted is not true and r."isLeft" as "isMatch"
    from (
      (select ${RoleKind.MEMBERSHIP}::integer as kind, m.owner, m.member_id as id, m.version, m.created, m.changed, m.scope, m.roles,
        m.project_id as "projectId", m.project_grant_id as "projectGrantId", null as active,
        null::timestamptz as "expirationDate", null as "isShut", ${sql.unsafe(membershipIsLeft)} as "isLeft"
      from members m where (m.user_id collate "C") = ${userId}
        and ((m.owner collate "C"), (m.member_id collate "C")) > (${owner}, ${id})
      order by (m.owner collate "C"), (m.member_id collate "C") limit ${limit})
      union all
      (select ${RoleKind.USER_GRANT}::integer, g.owner, g.user_grant_id, g.version, g.created, g.changed, null, null,
        g.project_id, g.project_grant_id, g.active, g.expiration_date, not g.active or ${sql.unsafe(grantShutBy)} <> '', ${sql.unsafe(grantIsLeft)}
      from user_grants g where (g.user_id collate "C") = ${userId}
        and ((g.owner collate "C"), (g.user_grant_id collate "C")) > (${owner}, ${id})
      order by (g.owner collate "C"), (g.user_grant_id collate "C") limit ${limit})
    ) r
    left join lateral (select * from organizations where organization_id = r.owner limit 1) h on true
    left join lateral (
      select project_id from project_grants where project_grant_id = r."projectGrantId" limit 1) p on true
    left join lateral (
      select project_id, owner from projects where project_id = coalesce(r."projectId", p.project_id) limit 1) q on true
    order by (r.owner collate "C"), (r.id collate "C") limit ${limit}`;
}

export const rolesShown = ({ kind, scope, roles, organizationName, ...row }: RolesRow) => ({
  id: row.id,
  details: details(row),
  kind,
  roles: [...roles],
  ...(scope === "instance" ? {} : { organizationId: row.owner, organizationName: organizationName ?? "" }),
  ...placeShown(row),
  ...(row.active === null ? {} : { state: row.active ? UserGrantState.ACTIVE : UserGrantState.INACTIVE }),
  ...(row.expirationDate === null ? {} : { expirationDate: timestampFromDate(row.expirationDate) }),
  inEffect: row.inEffect,
});

const placeShown = ({ projectId, projectOwner, projectGrantId }: Place) => ({
  ...(projectId === null ? {} : { projectId }),
  ...(projectOwner === null ? {} : { projectOrganizationId: projectOwner }),
  ...(projectGrantId === null ? {} : { projectGrantId }),
});

type Place = Pick<RolesRow, "projectId" | "projectOwner" | "projectGrantId">;

const kindNamed = (name: string): RoleKind =>
  name === roleKindName(RoleKind.MEMBERSHIP) ? RoleKind.MEMBERSHIP : RoleKind.USER_GRANT;

type EndedRow = {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly kind: string;
  readonly byAdministrator: boolean;
  readonly ended: Date;
  readonly isMatch: boolean;
};

/** Reads a page of the organizations that may not give a user roles. */
export function endedRolesOf(sql: Sql, userId: string, { after, limit }: PagePart) {
  const [organizationId = "", kind = ""] = after ?? [];
  return sql<EndedRow[]>`
    select e.organization_id as "organizationId", coalesce(h.name, '') as "organizationName", e.kind,
      e.by_administrator as "byAdministrator", e.ended, h.deleted is false as "isMatch"
    from ended_roles e
    left join lateral (select * from organizations where organization_id = e.organization_id limit 1) h on true
    where e.user_id = ${userId} and (e.organization_id, e.kind) > (${organizationId}, ${kind})
    order by e.organization_id, e.kind limit ${limit}`;
}

export const endedRolesShown = ({ kind, ended, organizationId, organizationName, byAdministrator }: EndedRow) => ({
  organizationId,
  organizationName,
  byAdministrator,
  kind: kindNamed(kind),
  endDate: timestampFromDate(ended),
});
