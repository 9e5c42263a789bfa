import {
  DenialReason,
  type EvaluateManyRequest,
  type EvaluateRequest,
  type Evaluation,
} from "../../gen/postern/v1/authorization_pb.ts";
import { type Call, callerOf, type Reach, reachOf } from "../deps.ts";
import { loadEach, loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { grantShutIn, inForce, organizationIsThere } from "./in_force.ts";

/** The parts of a question: a user, a role and a project. */
export type Parts = Pick<EvaluateRequest | EvaluateManyRequest | Evaluation, "subject" | "action" | "resource">;

/** The reason of a denial; undefined for a permission. */
export type Denial = DenialReason | undefined;

/** The property of a resource that names the organization whose grants count. */
export const organizationProperty = "organizationId";

/** A key of the shared read; an organization only where the grants of one count. */
type Lookup = {
  readonly user_id: string;
  readonly role_key: string;
  readonly project_id: string;
  readonly organization_id: string;
};

type Finding = {
  /** The organization that owns the project, if there is one. */
  readonly projectOwner: string | null;
  /** The grant of the project to the organization that the question names. */
  readonly projectGrantId: string | null;
  /** The part that keeps the best grant of the role from counting; empty if none does, null without a grant. */
  readonly shutBy: keyof typeof reasons | null;
};

const reasons = {
  "": undefined,
  grant: DenialReason.USER_GRANT_INACTIVE,
  organization: DenialReason.ORGANIZATION_INACTIVE,
  project: DenialReason.PROJECT_INACTIVE,
  user: DenialReason.USER_INACTIVE,
} as const satisfies Record<string, Denial>;

// The empty text is the least of all: one grant that counts suffices. A lateral part with a limit is read for each question by its
// indexes, also by a plan that was made while there were few projects or users.
const findingQuestion = {
  asked: "user_id text, role_key text, project_id text, organization_id text",
  select: `select n, p.owner as "projectOwner",
      case when asked.organization_id <> '' then (
        select d.project_grant_id from project_grants d
        where d.project_id = asked.project_id and d.granted_organization_id = asked.organization_id
      ) end as "projectGrantId",
      held."shutBy"
    from asked
    left join lateral (
      select p.* from projects p where p.project_id = asked.project_id limit 1
    ) p on ${organizationIsThere("p.owner")}
    left join lateral (
      select min(coalesce(nullif(${grantShutIn}, ''),
        case when not g.active then 'grant' when not ${inForce("u")} then 'user' else '' end)) as "shutBy"
      from user_grants g
      join user_grant_roles r on r.user_grant_id = g.user_grant_id and r.role_key = asked.role_key
      join users u on u.user_id = g.user_id
      join organizations h on h.organization_id = p.owner
      where g.user_id = asked.user_id and g.project_id = p.project_id
        and (asked.organization_id = '' or g.owner = asked.organization_id) and ${organizationIsThere("u.owner")}
    ) held on true`,
};

/** Makes the decision of one question; questions that come together share a statement. */
export function denialRead(sql: Sql) {
  const find = loadOne<Lookup, Finding>(sql, findingQuestion);
  return async (parts: Parts, call: Call): Promise<Denial> => {
    const lookup = lookupOf(parts);
    return isLookup(lookup) ? denialOf(lookup, await find(lookup, call.signal), askerOf(call)) : lookup;
  };
}

/** Makes the decisions of many questions, in their order, by one statement. */
export function denialsRead(sql: Sql) {
  const find = loadEach<Lookup, Finding>(sql, findingQuestion);
  return async (questions: readonly Parts[], call: Call): Promise<readonly Denial[]> => {
    const lookups = questions.map(lookupOf);
    const keys = lookups.filter(isLookup);
    const findings = keys.length === 0 ? [] : await find(keys);
    const found = new Map(keys.map((key, n) => [key, findings[n]]));
    const asker = askerOf(call);
    return lookups.map((one) => (isLookup(one) ? denialOf(one, found.get(one), asker) : one));
  };
}

/** The key of a question; the reason of its denial where the database has no say. */
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

/** The caller, and how far its permission reaches; a limited token does not stand for its user. */
type Asker = { readonly self: string | undefined; readonly reach: Reach };

function askerOf(call: Call): Asker {
  const { userId, isLimited } = callerOf(call);
  return { self: isLimited ? undefined : userId, reach: reachOf(call) };
}

function denialOf(lookup: Lookup, finding: Finding | undefined, asker: Asker): Denial {
  if (!finding || !mayAsk(lookup, finding, asker)) return DenialReason.NOT_PERMITTED;
  return finding.shutBy === null ? DenialReason.ROLE_NOT_HELD : reasons[finding.shutBy];
}

function mayAsk(lookup: Lookup, { projectOwner, projectGrantId }: Finding, { self, reach }: Asker): boolean {
  if (reach.whole || lookup.user_id === self || reach.projects.includes(lookup.project_id)) return true;
  if (projectOwner !== null && reach.organizations.includes(projectOwner)) return true;
  if (reach.organizations.includes(lookup.organization_id)) return true;
  return projectGrantId !== null && reach.projectGrants.includes(projectGrantId);
}
