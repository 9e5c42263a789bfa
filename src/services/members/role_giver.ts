import { RoleKind } from "../../../gen/postern/v1/user_role_pb.ts";
import type { Versioned } from "../../events/fact.ts";
import type { NounFolds, Step } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { roleKindName } from "../callers/ended_roles.ts";
import { touchUser } from "../writing/touch_user.ts";
import { isLastOwnerOf, keepsAnOwner } from "./last_owner.ts";

/** A user with the roles of each kind that an organization gave the user, or may no longer give. */
export type Giver = Versioned & {
  readonly kinds: readonly {
    readonly kind: RoleKind;
    readonly isGiven: boolean;
    readonly endedBy: "user" | "administrator" | null;
    /** Whether the roles in effect stayed, because only further ones were declined. */
    readonly isKept: boolean | null;
    /** The job that is removing them, if there were too many for one call. */
    readonly jobId: string | null;
  }[];
  /** Whether, without the user, the organization would have no active owner. */
  readonly isLastOwner: boolean;
};

/** The organization of a user, the user, and an organization that gave it roles. */
export type GiverKey = { readonly owner: string; readonly id: string; readonly giver: string };

// Memberships on the instance belong to no organization.
const memberships = (user: string, giver: string) =>
  `(m.user_id collate "C") = ${user} and (m.owner collate "C") = ${giver} and m.scope <> 'instance'`;
const userGrants = (user: string, giver: string) =>
  `(g.user_id collate "C") = ${user} and (g.owner collate "C") = ${giver}`;

const kindOf = (
  kind: RoleKind,
  given: string,
): string => `json_build_object('kind', ${kind}, 'isGiven', exists (${given}),
        'endedBy', (select case when e.by_administrator then 'administrator' else 'user' end from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = '${roleKindName(kind)}'),
        'isKept', (select e.kept from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = '${roleKindName(kind)}'),
        'jobId', (select j.job_id from jobs j where j.ended is null and j.owner = asked.owner and j.stream = asked.id
          and j.type = 'user.roles_ended' and j.payload->>'organizationId' = asked.giver
          and j.payload->'kinds' ? '${roleKindName(kind)}' limit 1))`;

export const giverRead = (sql: Sql) =>
  loadOne<GiverKey, Giver>(sql, {
    asked: "owner text, id text, giver text",
    select: `select n, u.user_id as id, u.owner, u.version, u.created, u.changed,
      json_build_array(
        ${kindOf(RoleKind.MEMBERSHIP, `select from members m where ${memberships("asked.id", "asked.giver")} offset 0`)},
        ${kindOf(RoleKind.USER_GRANT, `select from user_grants g where ${userGrants("asked.id", "asked.giver")} offset 0`)}
      ) as kinds,
      ${isLastOwnerOf("asked.giver")} as "isLastOwner"
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

const giver = "i.payload->>'organizationId'";
const isKept = (fact: string) => `coalesce((${fact}.payload->>'kept')::boolean, false)`;
const ends = (kind: RoleKind) => `not ${isKept("i")} and i.payload->'kinds' ? '${roleKindName(kind)}'`;

const membershipsEnd = (scope: string): Step => ({
  makes: "member.removed",
  select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from $input i join members m on ${ends(RoleKind.MEMBERSHIP)} and ${memberships("i.stream", giver)} and ${scope}`,
});

// Always ended by the fact itself, so that no membership left for a job counts as an owner's.
const onOrganization = membershipsEnd("m.scope = 'organization'");

/** The roles on projects and in them, which may be many. */
const whatRests: readonly Step[] = [
  membershipsEnd("m.scope <> 'organization'"),
  {
    makes: "user_grant.removed",
    select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
           from $input i join user_grants g on ${ends(RoleKind.USER_GRANT)} and ${userGrants("i.stream", giver)}`,
  },
];

// Administrators may remove their users' roles elsewhere even if that leaves an organization without an owner; users may not leave that
// way.
const keepsAnOwnerBehind = keepsAnOwner(
  "user.roles_ended",
  `not (i.payload->>'byAdministrator')::boolean and ${ends(RoleKind.MEMBERSHIP)} and ${memberships("i.stream", giver)}`,
);

// From then on, the remaining roles have no effect, unless only further ones were declined.
const ended = [
  touchUser(),
  `insert into ended_roles as e (user_id, organization_id, kind, by_administrator, ended, kept)
   select f.stream, f.payload->>'organizationId', k.kind, (f.payload->>'byAdministrator')::boolean, f.time, ${isKept("f")}
   from $facts f cross join jsonb_array_elements_text(f.payload->'kinds') k (kind)
   on conflict (user_id, organization_id, kind) do update
     set by_administrator = e.by_administrator or excluded.by_administrator, kept = e.kept and excluded.kept`,
];

export const roleGiverFolds = {
  rolesEnded: {
    views: ended,
    cascades: [
      { ...onOrganization, extent: "few" },
      ...whatRests.map((step) => ({ ...step, extent: "many" as const })),
      keepsAnOwnerBehind,
    ],
    later: { begins: ended, steps: whatRests, ends: [] },
  },
  rolesAllowed: {
    views: [
      touchUser(),
      `delete from ended_roles e using $facts f
       where e.user_id = f.stream and e.organization_id = f.payload->>'organizationId' and f.payload->'kinds' ? e.kind`,
    ],
  },
} satisfies Pick<NounFolds<"user">, "rolesEnded" | "rolesAllowed">;
