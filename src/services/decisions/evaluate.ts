import {
  DenialReason,
  type EvaluateManyRequest,
  type EvaluateRequest,
  type Evaluation,
} from "../../../gen/postern/v1/authorization_pb.ts";
import { type Call, callerOf, type Reach, reachOf } from "../../deps.ts";
import { load, loadEach, type Question } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { granteeIsInForce, grantIsLeft, grantIsOver, roleIsThere } from "../callers/in_force.ts";

/** The parts of a question: user, role and project. */
export type Parts = Pick<EvaluateRequest | EvaluateManyRequest | Evaluation, "subject" | "action" | "resource">;

/** The reason for a denial; undefined for a permission. */
export type Denial = DenialReason | undefined;

/** The property of a resource that names the organization whose grants count. */
export const organizationProperty = "organizationId";

/** A key of the shared read. It has an organization only if just that organization's grants count. */
export type Lookup = {
  readonly user_id: string;
  readonly role_key: string;
  readonly project_id: string;
  readonly organization_id: string;
};

/** A row for a question: its project, and a user grant of the role, if there is one. */
type Finding = {
  /** The organization that owns the project; null without a project. */
  readonly projectOwner: string | null;
  /** The grant of the project to the organization that the question names; absent if it names none. */
  readonly projectGrantId?: string | null;
  readonly isProjectActive: boolean | null;
  readonly isOwnerActive: boolean | null;
  /** Null without a user grant. */
  readonly isGrantActive: boolean | null;
  /** Whether the user grant has ended; null if it never does, or without a user grant. */
  readonly isGrantOver: boolean | null;
  /** Whether the organization that received the role by a project grant is active; true without a project grant. */
  readonly isGranteeActive: boolean | null;
  /** Whether the user and its organization are active; null if the organization is deleted. */
  readonly isUserActive: boolean | null;
};

type InSql = { readonly columns: string; readonly grants: string; readonly held?: string };

// A chain of left joins has a single order, so each part is read by index for each question, even under a plan made while there were few
// projects or users. The joins to organizations can be memoized (Memoize).
const questionOf = ({ columns, grants, held = "" }: InSql): Question => ({
  asked: "user_id text, role_key text, project_id text, organization_id text",
  select: `select n, case when not h.deleted then p.owner end as "projectOwner",${columns}
      p.active as "isProjectActive", h.active as "isOwnerActive", g.active as "isGrantActive", g."isGrantOver", g."isGranteeActive",
      case when not o.deleted then u.active and o.active end as "isUserActive"
    from asked
    left join projects p on p.project_id = asked.project_id
    left join organizations h on h.organization_id = p.owner
    left join lateral (
      select g.user_id, g.active, ${grantIsOver} as "isGrantOver", (g.project_grant_id is null or ${granteeIsInForce}) as "isGranteeActive"${held}
      from user_grants g cross join lateral (
        select from user_grant_roles r where r.user_grant_id = g.user_grant_id and r.role_key = asked.role_key
          and ${roleIsThere} limit 1
      ) r
      where g.user_id = asked.user_id and g.project_id = asked.project_id and ${grantIsLeft}${grants}
    ) g on true
    left join users u on u.user_id = g.user_id
    left join organizations o on o.organization_id = u.owner`,
});

const ofAll = questionOf({ columns: "", grants: "" });

const ofOne = {
  columns: `
      case when asked.organization_id <> '' then (
        select d.project_grant_id from project_grants d
        where d.project_id = asked.project_id and d.granted_organization_id = asked.organization_id
      ) end as "projectGrantId",`,
  grants: `
        and (asked.organization_id = '' or g.owner = asked.organization_id)`,
};

const ofOneOrganization = questionOf(ofOne);

// The same question, with the columns that an explanation needs.
const explained = questionOf({
  ...ofOne,
  columns: `${ofOne.columns}
      g.user_grant_id as "userGrantId", g.owner as "giver",`,
  held: ", g.user_grant_id, g.owner",
});

const namesOne = ({ organization_id }: Lookup): boolean => organization_id !== "";

/** Decides one question; concurrent questions share a statement. */
export function denialRead(sql: Sql) {
  const findOfAll = load<Lookup, Finding>(sql, ofAll);
  const findOfOne = load<Lookup, Finding>(sql, ofOneOrganization);
  return async (parts: Parts, call: Call): Promise<Denial> => {
    const lookup = lookupOf(parts);
    if (!isLookup(lookup)) return lookup;
    const find = namesOne(lookup) ? findOfOne : findOfAll;
    return denialOf(lookup, await find(lookup, call.signal), askerOf(call));
  };
}

/** Decides many questions, in order, in one statement. */
export function denialsRead(sql: Sql) {
  const findOfAll = loadEach<Lookup, Finding>(sql, ofAll);
  const findOfOne = loadEach<Lookup, Finding>(sql, ofOneOrganization);
  return async (questions: readonly Parts[], call: Call): Promise<readonly Denial[]> => {
    const lookups = questions.map(lookupOf);
    const keys = lookups.filter(isLookup);
    const find = keys.some(namesOne) ? findOfOne : findOfAll;
    const findings = keys.length === 0 ? [] : await find(keys);
    const asker = askerOf(call);
    let next = 0;
    return lookups.map((one) => (isLookup(one) ? denialOf(one, findings[next++] ?? [], asker) : one));
  };
}

/** The lookup key of a question, or the reason for a denial that needs no database. */
function lookupOf({ subject, action, resource }: Parts): Lookup | DenialReason {
  if (!subject?.type || !subject.id || !action?.name || !resource?.type || !resource.id) return DenialReason.INCOMPLETE;
  if (subject.type !== "user" || resource.type !== "project") return DenialReason.ROLE_NOT_HELD;
  const organization = resource.properties?.[organizationProperty];
  return {
    user_id: subject.id,
    role_key: action.name,
    project_id: resource.id,
    organization_id: typeof organization === "string" ? organization : "",
  };
}

const isLookup = (lookup: Lookup | DenialReason): lookup is Lookup => typeof lookup === "object";

/** The caller, and the reach of its permission; a limited token may not ask as its user. */
type Asker = { readonly self: string | undefined; readonly reach: Reach };

function askerOf(call: Call): Asker {
  const { userId, isLimited } = callerOf(call);
  return { self: isLimited ? undefined : userId, reach: reachOf(call) };
}

/** A finding with the user grant behind it and the organization that gave it. */
export type ExplainedFinding = Finding & { readonly userGrantId: string; readonly giver: string };

/** Decides one question, and returns the grants of the role; none if the caller may not ask. */
export function explainedRead(sql: Sql) {
  const find = load<Lookup, ExplainedFinding>(sql, explained);
  return async (lookup: Lookup, call: Call) => {
    const findings = await find(lookup, call.signal);
    const denial = denialOf(lookup, findings, askerOf(call));
    const held = denial === DenialReason.NOT_PERMITTED ? [] : heldIn(findings);
    return { denial, held: held.toSorted((a, b) => (a.userGrantId < b.userGrantId ? -1 : 1)) };
  };
}

const heldIn = <F extends Finding>(findings: readonly F[]): readonly F[] =>
  findings[0]?.projectOwner === null ? [] : findings.filter(isHeld);

function denialOf(lookup: Lookup, findings: readonly Finding[], asker: Asker): Denial {
  const [first] = findings;
  if (!first || !mayAsk(lookup, first, asker)) return DenialReason.NOT_PERMITTED;
  const held = heldIn(findings);
  if (held.length === 0) return DenialReason.ROLE_NOT_HELD;
  const ranks = held.map((finding) => ranked.indexOf(shutBy(finding)));
  return ranked[Math.min(...ranks)];
}

const isHeld = ({ isGrantActive, isUserActive }: Finding): boolean => isGrantActive !== null && isUserActive !== null;

// One grant in force is enough; otherwise the first of these reasons that applies is returned.
const ranked: readonly Denial[] = [
  undefined,
  DenialReason.USER_GRANT_EXPIRED,
  DenialReason.USER_GRANT_INACTIVE,
  DenialReason.ORGANIZATION_INACTIVE,
  DenialReason.PROJECT_INACTIVE,
  DenialReason.USER_INACTIVE,
];

/** The reason why the grant of a finding has no effect; undefined if it has one. */
export function shutBy(finding: Finding): Denial {
  const { isProjectActive, isOwnerActive, isGrantActive, isGrantOver, isGranteeActive, isUserActive } = finding;
  if (!isProjectActive) return DenialReason.PROJECT_INACTIVE;
  if (!isOwnerActive || !isGranteeActive) return DenialReason.ORGANIZATION_INACTIVE;
  if (!isGrantActive) return DenialReason.USER_GRANT_INACTIVE;
  if (isGrantOver) return DenialReason.USER_GRANT_EXPIRED;
  return isUserActive ? undefined : DenialReason.USER_INACTIVE;
}

function mayAsk(lookup: Lookup, { projectOwner, projectGrantId }: Finding, { self, reach }: Asker): boolean {
  if (reach.whole || lookup.user_id === self || reach.projects.includes(lookup.project_id)) return true;
  if (projectOwner !== null && reach.organizations.includes(projectOwner)) return true;
  if (reach.organizations.includes(lookup.organization_id)) return true;
  return typeof projectGrantId === "string" && reach.projectGrants.includes(projectGrantId);
}
