import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { AddUserGrantRequest } from "../../../gen/postern/v1/user_grant_pb.ts";
import { RoleKind } from "../../../gen/postern/v1/user_role_pb.ts";
import type { Call, Reach } from "../../deps.ts";
import type { Refusal, Violation } from "../../errors.ts";
import { type At, detailsAfter, factOf, type NewFact, typeOf } from "../../events/fact.ts";
import type { Condition } from "../../events/fold.ts";
import { isEnded } from "../callers/ended_roles.ts";
import { organizationIsThere } from "../callers/in_force.ts";
import type { No } from "../writing/batch_refusal.ts";
import { inactive } from "../writing/inactive.ts";
import { type Acceptance, deciderIn, deciderOfUser, type Offer, offeredAs } from "../writing/offer.ts";

/** A user grant to add. */
export type WantedGrant = {
  /** The organization of the call, which the grant will belong to. */
  readonly owner: string;
  readonly userId: string;
  readonly projectId: string;
  /** Empty if the project is the organization's own. */
  readonly projectGrantId: string;
  readonly roleKeys: readonly string[];
  /** When the roles end; undefined if they do not. */
  readonly expirationDate: Timestamp | undefined;
};

/** The state that decides about a grant to add. */
export type GrantFindings = Acceptance & {
  /** Whether the organization owns the project; null if the project does not exist. */
  readonly owned: boolean | null;
  /** Whether the project itself is active; null if it does not exist. */
  readonly projectActive: boolean | null;
  /** The deactivated one: the organization that grants, or the one that owns the project. */
  readonly inactiveOrganization: string | null;
  readonly projectGrantId: string | null;
  readonly userId: string | null;
  /** The existing grant, if any. */
  readonly existing: string | null;
  /** Whether the user, or its organization, has ended the grants given by the organization. */
  readonly isEnded: boolean;
  /** The requested roles that exist. */
  readonly roleKeys: readonly string[];
  /** Whether nothing prevents the grant. */
  readonly holds: boolean;
};

/** The reach of the caller's permission, and the path of an item in the request. */
export type Within = { readonly reach: Reach; readonly path: string };

export const wantedOf = (owner: string, item: AddUserGrantRequest): WantedGrant => ({
  owner,
  userId: item.userId,
  projectId: item.projectId,
  projectGrantId: item.projectGrantId,
  roleKeys: item.roleKeys,
  expirationDate: item.expirationDate,
});

/** The query for the state that decides about a grant to add. */
export const findingsQuestion = {
  asked: "owner text, user_id text, project_id text, project_grant_id text, role_keys text[]",
  // Scalar subselects use index scans whatever the size of the tables; joins over a hundred keys fell back to hashing them. With a row
  // comparison and its order, an existing grant fits only the unique index, and comes first there: before PostgreSQL 18, a comparison with
  // an upper bound reads on through all grants of the user. A grant of an own project has no project grant, and nulls come last. Among
  // indexes on user and project the planner chose the project's while the table was new, and read every grant of the project for each key
  // until the next analyze. The findings are a subquery of their own, so that each is computed once.
  select: `select found.*, coalesce(
      coalesce("projectGrantId", '') = "askedGrantId" and (owned or "projectGrantId" is not null)
      and "projectActive" and "inactiveOrganization" is null and "userId" is not null and existing is null
      and not "isEnded" and "decidedBy" is null and cardinality("roleKeys") = "askedRoles", false) as holds
    from (select n, asked.project_grant_id as "askedGrantId", cardinality(asked.role_keys) as "askedRoles",
    p.owner = asked.owner as owned, p.active as "projectActive",
    (select o.organization_id from organizations o
     where not o.active and o.organization_id = any(array[asked.owner, p.owner]) limit 1) as "inactiveOrganization",
    (select g.project_grant_id from project_grants g
     where g.project_id = asked.project_id and g.granted_organization_id = asked.owner
       and ${organizationIsThere("g.owner")}) as "projectGrantId",
    (select u.user_id from users u
     where u.user_id = asked.user_id and ${organizationIsThere("u.owner")}) as "userId",
    case when asked.project_grant_id = '' then (
      select g.user_grant_id from (
        select * from user_grants g where (g.user_id, g.project_id) <= (asked.user_id, asked.project_id)
        order by g.user_id desc, g.project_id desc, g.project_grant_id desc, g.owner desc limit 1) g
      where g.user_id = asked.user_id and g.project_id = asked.project_id and g.project_grant_id is null and g.owner = asked.owner)
    else (
      select g.user_grant_id from (
        select * from user_grants g
        where (g.user_id, g.project_id, g.project_grant_id, g.owner)
          >= (asked.user_id, asked.project_id, asked.project_grant_id, asked.owner)
        order by g.user_id, g.project_id, g.project_grant_id, g.owner limit 1) g
      where (g.user_id, g.project_id, g.project_grant_id, g.owner)
        = (asked.user_id, asked.project_id, asked.project_grant_id, asked.owner))
    end as existing,
    ${isEnded(RoleKind.USER_GRANT, { user: "asked.user_id", giver: "asked.owner" })} as "isEnded",
    ${deciderOfUser("asked.user_id", "asked.owner")} as "decidedBy",
    ${offeredAs("user_grant", { recipient: "asked.user_id", object: "coalesce(nullif(asked.project_grant_id, ''), asked.project_id)", giver: "asked.owner" })} as "offeredAs",
    case when asked.project_grant_id = '' then array(
      select r.role_key from project_roles r
      where r.project_id = asked.project_id and r.role_key = any(asked.role_keys))
    else array(
      select r.role_key from project_grant_roles r
      where r.project_grant_id = asked.project_grant_id and r.role_key = any(asked.role_keys))
    end as "roleKeys"
    from asked left join lateral (
      select owner, active from projects where project_id = asked.project_id offset 0) p on true offset 0) found`,
};

/** The condition of the fact that adds a grant. */
export const grantCondition: Condition = {
  asked: `owner, payload->>'userId' as user_id, payload->>'projectId' as project_id,
    coalesce(payload->>'projectGrantId', '') as project_grant_id,
    array(select jsonb_array_elements_text(payload->'roleKeys')) as role_keys`,
  select: findingsQuestion.select,
};

export const lookupKeyOf = ({ owner, userId, projectId, projectGrantId, roleKeys }: WantedGrant) => ({
  owner,
  user_id: userId,
  project_id: projectId,
  project_grant_id: projectGrantId,
  role_keys: roleKeys,
});

/** Finds why a grant cannot be added; undefined if it can. `path` leads to its item in a batch. */
export function refusalOf(wanted: WantedGrant, findings: GrantFindings | undefined, path = ""): No | undefined {
  return (
    refusedProject(wanted, findings, path) ??
    refusedInactive(wanted, findings, path) ??
    refusedUser(wanted, findings, path) ??
    refusedEnded(wanted, findings, path) ??
    refusedRoles(wanted, findings?.roleKeys ?? [], path) ??
    refusedTwice(findings, path)
  );
}

/** Finds the problems of a grant's project and roles, whoever the user is; none if the project is not found. */
export function wrongInProject(
  wanted: WantedGrant,
  findings: GrantFindings | undefined,
  path = "",
): readonly Violation[] {
  return refusedInProject(wanted, findings, path)?.violations ?? [];
}

/** Finds why nobody could get a grant: because of its project or its roles. */
export const refusedInProject = (wanted: WantedGrant, findings: GrantFindings | undefined, path = ""): No | undefined =>
  refusedProject(wanted, findings, path) ??
  refusedInactive(wanted, findings, path) ??
  refusedRoles(wanted, findings?.roleKeys ?? [], path);

/** Finds the roles that cannot be given, with a violation for each unknown one. */
export function refusedRoles(
  { projectId, projectGrantId, roleKeys }: Pick<WantedGrant, "projectId" | "projectGrantId" | "roleKeys">,
  known: readonly string[],
  path = "",
): No | undefined {
  const there = new Set(known);
  const text = projectGrantId ? "ROLE_NOT_IN_GRANT" : "ROLE_NOT_IN_PROJECT";
  const id = projectGrantId || projectId;
  const violations: Violation[] = roleKeys.flatMap((key, at) =>
    there.has(key) ? [] : { field: `${path}roleKeys[${at}]`, text, params: { key, id }, reason: "ROLE_UNKNOWN" },
  );
  if (violations.length === 0) return undefined;
  const params = { projectId, ...(projectGrantId ? { projectGrantId } : {}) };
  return { reason: "ROLE_UNKNOWN", field: `${path}roleKeys`, params, violations };
}

/** Finds why the caller may not grant in the project; its permission may reach only some projects and project grants. */
export function refusedReach(
  { projectId }: WantedGrant,
  findings: GrantFindings | undefined,
  { reach, path }: Within,
): No | undefined {
  if (reach.whole || reach.projects.includes(projectId)) return undefined;
  if (findings?.projectGrantId && reach.projectGrants.includes(findings.projectGrantId)) return undefined;
  return missing("project", projectId, `${path}projectId`);
}

/** The offer of a grant, if the user's organization has to accept it first. */
export function grantOffer(
  { owner, userId, projectId, projectGrantId, roleKeys, expirationDate }: WantedGrant,
  findings: GrantFindings,
  { call, path = "" }: { readonly call: Call; readonly path?: string },
): Offer | undefined {
  const receiver = deciderIn(findings, call);
  if (receiver === undefined) return undefined;
  const grant = { projectId, projectGrantId, roleKeys, expirationDate };
  return { owner, receiver, offeredAs: findings.offeredAs, path, userId, grant };
}

/** The response to a fact that adds a grant, or offers it. */
export const grantAnswer = ({ type, at }: NewFact) =>
  type === typeOf("invitation", "created")
    ? { userGrantId: "", details: detailsAfter(at), invitationId: at.stream }
    : { userGrantId: at.stream, details: detailsAfter(at) };

/** Makes the fact that adds a grant, optionally by an accepted invitation. */
export function addedFact(at: At, wanted: WantedGrant, invitationId?: string): NewFact {
  const { userId, projectId, projectGrantId, roleKeys, expirationDate } = wanted;
  const granted = {
    ...(projectGrantId && { projectGrantId }),
    ...(invitationId && { invitationId }),
    ...(expirationDate && { expirationDate }),
  };
  return factOf("userGrant", at, { case: "added", value: { userId, projectId, ...granted, roleKeys: [...roleKeys] } });
}

function refusedProject(wanted: WantedGrant, findings: GrantFindings | undefined, path: string): No | undefined {
  const { owner, projectId, projectGrantId } = wanted;
  const granted = findings?.projectGrantId ?? undefined;
  if (!findings?.owned && !granted) return missing("project", projectId, `${path}projectId`);
  const field = `${path}projectGrantId`;
  if (projectGrantId && projectGrantId !== granted)
    return missing("project_grant", projectGrantId, field, { projectId, organizationId: owner });
  if (projectGrantId || !granted) return undefined;
  const reason = "PROJECT_GRANT_NEEDED";
  const named = { id: projectId, organization: owner };
  const violations: Violation[] = [{ field, text: "PROJECT_ONLY_GRANTED", params: named, reason }];
  const params = { projectId, organizationId: owner, projectGrantId: granted };
  return { reason, field, params, violations };
}

function refusedInactive(
  { projectId }: WantedGrant,
  findings: GrantFindings | undefined,
  path: string,
): No | undefined {
  const field = `${path}projectId`;
  const organization = findings?.inactiveOrganization;
  if (organization) return inactive("organization", organization, field);
  return findings?.projectActive === false ? inactive("project", projectId, field) : undefined;
}

const refusedUser = ({ userId }: WantedGrant, findings: GrantFindings | undefined, path: string): No | undefined =>
  findings?.userId ? undefined : missing("user", userId, `${path}userId`);

/** An organization that gets this reason has given the user a role before, so it reveals no user that the organization did not know. */
function refusedEnded({ userId }: WantedGrant, findings: GrantFindings | undefined, path: string): No | undefined {
  return findings?.isEnded ? { reason: "ENDED_BY_RECEIVER", field: `${path}userId`, params: { userId } } : undefined;
}

function refusedTwice(findings: GrantFindings | undefined, path: string): No | undefined {
  if (!findings?.existing) return undefined;
  const params = { userGrantId: findings.existing };
  const resource = { noun: "user_grant", id: findings.existing };
  return { reason: "USER_GRANT_EXISTS", field: path.replace(/\.$/, ""), params, resource };
}

const reasonsOfMissing = {
  project: "PROJECT_NOT_FOUND",
  project_grant: "PROJECT_GRANT_NOT_FOUND",
  user: "USER_NOT_FOUND",
} as const;

function missing(noun: keyof typeof reasonsOfMissing, id: string, field: string, more: Refusal["params"] = {}): No {
  return { reason: reasonsOfMissing[noun], field, params: { id, ...more }, resource: { noun, id } };
}
