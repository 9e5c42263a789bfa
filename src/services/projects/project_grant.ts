import type { ServiceImpl } from "@connectrpc/connect";
import {
  GrantProjectRequestSchema,
  type ListProjectGrantsRequest,
  ListProjectGrantsRequestSchema,
  type ProjectService,
} from "../../../gen/postern/v1/project_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import {
  type At,
  details,
  detailsAfter,
  factOf,
  first,
  type NewFact,
  next,
  type Versioned,
} from "../../events/fact.ts";
import { type NounFolds, type Step, touch } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule } from "../../rules.ts";
import { ageDirection, cut, type Page, pageOf, pageRule } from "../reading/page.ts";
import type { No } from "../writing/batch_refusal.ts";
import { beingDeleted } from "../writing/being_deleted.ts";
import { inactive } from "../writing/inactive.ts";
import { type Acceptance, deciderIn, invitationsEnd, type Offer, offeredAs, offering } from "../writing/offer.ts";
import type { ReadableProject } from "./readable_project.ts";

type ProjectGrants = Pick<
  ServiceImpl<typeof ProjectService>,
  "grantProject" | "listProjectGrants" | "revokeProjectGrant"
>;

export const projectGrants = (deps: Deps, readable: ReadableProject) => {
  const { log, sql, clock, ids } = deps;
  const prospectOf = prospectRead(sql);
  const grantOf = grantRead(sql);

  return {
    async grantProject({ projectId, grantedOrganizationId, roleKeys }, call) {
      const owner = organizationOf(call);
      const asked = { owner, project: projectId, granted: grantedOrganizationId, keys: roleKeys };
      const prospect = await prospectOf(asked, call.signal);
      const no = unfit(asked, prospect);
      if (no) throw refuse.because(no.reason, no);
      const receiver = prospect && deciderIn(prospect, call);
      if (receiver !== undefined) return offered(asked, { receiver, offeredAs: prospect?.offeredAs ?? null }, call);
      const created = grantedFact(first(owner, ids(), clock()), asked);
      return log.append(call, [created], { projectGrantId: created.at.stream, details: detailsAfter(created.at) });
    },

    async listProjectGrants(request, call) {
      const page = pageOf(ListProjectGrantsRequestSchema, request, 1);
      const { grantId } = await readable(request.projectId, call);
      const rows = await grantsOf(sql, { ...request, only: grantId }, page);
      const { rows: answered, nextPageToken } = cut(rows, page, ({ id }) => [id]);
      return { projectGrants: answered.map(projectGrant), nextPageToken };
    },

    async revokeProjectGrant({ projectId, projectGrantId }, call) {
      const row = await grantOf(
        { owner: organizationOf(call), project: projectId, grant: projectGrantId },
        call.signal,
      );
      if (!row) throw refuse.notFound("project", projectId);
      if (row.id === null) throw refuse.notFound("project_grant", projectGrantId);
      const at = next(row, clock());
      const revoked = factOf("projectGrant", at, { case: "revoked", value: {} });
      return log.appendLong(call, revoked, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
    },
  } satisfies ProjectGrants;

  /** Offers a project grant to the organization that would get it. */
  async function offered({ owner, project: projectId, granted, keys }: ProspectKey, of: Receiving, call: Call) {
    const projectGrant = { projectId, organizationId: granted, roleKeys: keys };
    const [one] = await offering(deps)([{ owner, ...of, path: "", projectGrant }]);
    if (!one?.fact) throw one ? refuse.because(one.no.reason, one.no) : new Error("an offer was not decided");
    const { at } = one.fact;
    return log.append(call, [one.fact], { details: detailsAfter(at), invitationId: at.stream });
  }
};

type Receiving = Pick<Offer, "receiver" | "offeredAs">;

/** Makes the fact that grants a project, optionally by an accepted invitation. */
export function grantedFact(
  at: At,
  { project: projectId, granted, keys }: ProspectKey,
  invitationId?: string,
): NewFact {
  const named = { projectId, grantedOrganizationId: granted, ...(invitationId && { invitationId }) };
  return factOf("projectGrant", at, { case: "created", value: { ...named, roleKeys: [...keys] } });
}

export const projectGrantRules = [pageRule(ListProjectGrantsRequestSchema, 1)];

export function projectGrantLateRules({ sql }: Pick<Deps, "sql">) {
  const prospectOf = prospectRead(sql);
  return [
    lateRule(GrantProjectRequestSchema, ["projectId", "roleKeys"], async ({ projectId, roleKeys }, call: Call) => {
      // The organization may be the invalid field.
      const asked = { owner: organizationOf(call), project: projectId, granted: "", keys: roleKeys };
      const prospect = await prospectOf(asked, call.signal);
      return prospect ? unknownRoles(roleKeys, prospect.known) : [];
    }),
    lateRule(GrantProjectRequestSchema, ["projectId", "grantedOrganizationId"], async (request, call: Call) => {
      const { projectId, grantedOrganizationId: granted } = request;
      const owner = organizationOf(call);
      if (granted !== owner) return [];
      return (await prospectOf({ owner, project: projectId, granted, keys: [] }, call.signal)) ? [grantToOwner] : [];
    }),
  ];
}

// A user grant locks the project grant before its roles; deleting in the same order avoids a deadlock.
const gone = [
  `delete from all_project_grants g using $facts f where g.owner = f.owner and g.project_grant_id = f.stream`,
  `delete from all_project_grant_roles r using $facts f where r.project_grant_id = f.stream`,
];

/** The objects deleted with a project grant. */
const whatRests: readonly Step[] = [
  {
    makes: "user_grant.removed",
    select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
                 from $input i join user_grants g on g.project_grant_id = i.stream`,
  },
  {
    makes: "member.removed",
    select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from $input i join members m on m.project_grant_id = i.stream`,
  },
  invitationsEnd("join invitations v on v.project_grant_id = i.stream"),
];

/** Nobody can accept roles that the project grant has lost. */
const offersOfThemEnd = invitationsEnd(
  `join invitations v on v.project_grant_id = i.stream and v.grants->0->'roleKeys' ?| array(
                   select jsonb_array_elements_text(i.payload->'removedRoleKeys'))`,
);

// In the order in which a user grant locks them: first the project grant, then its roles.
const rolesAfter = [
  touch("project_grants", "project_grant_id"),
  `insert into project_grant_roles (owner, project_grant_id, project_id, role_key)
       select g.owner, g.project_grant_id, g.project_id, k.role_key
       from $facts f join project_grants g on g.owner = f.owner and g.project_grant_id = f.stream
       cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key)
       on conflict (project_grant_id, role_key) do nothing`,
];

const lostRoles = `r.project_grant_id = f.stream and f.payload->'removedRoleKeys' ? r.role_key`;

/** The user grants that lose roles when the project grant does: one fact may remove several roles, and is made for the first of them. */
const holdersLoseThem: Step = {
  makes: "user_grant.changed",
  select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object('roleKeys', array(
                   select k.role_key from user_grant_roles k
                   where k.user_grant_id = g.user_grant_id and not i.payload->'removedRoleKeys' ? k.role_key
                   order by k.role_key))
                 from $input i
                 cross join jsonb_array_elements_text(i.payload->'removedRoleKeys') lost (role_key)
                 join user_grant_roles r on r.project_grant_id = i.stream and r.role_key = lost.role_key
                 join user_grants g on g.user_grant_id = r.user_grant_id
                 where not exists (
                   select from user_grant_roles s
                   where s.user_grant_id = r.user_grant_id and s.role_key < r.role_key
                     and i.payload->'removedRoleKeys' ? s.role_key offset 0)`,
};

/** The folds of facts about the grant of a project: they write its row and its roles. */
export const projectGrantFolds = {
  created: {
    views: [
      `insert into project_grants (owner, project_grant_id, project_id, granted_organization_id, version, created, changed)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'grantedOrganizationId', f.version, f.time, f.time
       from $facts f`,
      `insert into project_grant_roles (owner, project_grant_id, project_id, role_key)
       select f.owner, f.stream, f.payload->>'projectId', role_key
       from $facts f, jsonb_array_elements_text(f.payload->'roleKeys') role_key`,
    ],
  },
  changed: {
    // Events of earlier releases name only the remaining roles.
    views: [
      ...rolesAfter,
      `delete from project_grant_roles r using $facts f
       where r.project_grant_id = f.stream and not f.payload->'roleKeys' ? r.role_key`,
    ],
    cascades: [holdersLoseThem, offersOfThemEnd].map((step) => ({ ...step, extent: "many" as const })),
    later: {
      begins: [...rolesAfter, `update all_project_grant_roles r set deleted = true from $facts f where ${lostRoles}`],
      steps: [holdersLoseThem, offersOfThemEnd],
      ends: [`delete from all_project_grant_roles r using $facts f where ${lostRoles}`],
    },
  },
  roleRemoved: {
    views: [
      `delete from project_grant_roles r using $facts f
       where r.project_grant_id = f.stream and r.role_key = f.payload->>'key'`,
      touch("project_grants", "project_grant_id"),
    ],
  },
  revoked: {
    views: gone,
    cascades: whatRests.map((step) => ({ ...step, extent: "many" as const })),
    later: {
      begins: [
        `update all_project_grants g set deleted = true from $facts f
         where g.owner = f.owner and g.project_grant_id = f.stream`,
        "update all_project_grant_roles r set deleted = true from $facts f where r.project_grant_id = f.stream",
      ],
      steps: whatRests,
      ends: gone,
    },
  },
} satisfies NounFolds<"projectGrant">;

type ProspectKey = { owner: string; project: string; granted: string; keys: string[] };
type Prospect = Acceptance & {
  /** Whether the organization that would receive the grant is active; null if it does not exist. */
  organizationActive: boolean | null;
  projectActive: boolean;
  /** Whether the organization that owns the project is active. */
  ownerActive: boolean;
  grantId: string | null;
  /** Whether a job is still deleting an earlier grant to the organization. */
  isBeingDeleted: boolean;
  known: string[];
};

/** Reads the state that decides whether a project can be granted to an organization. */
export const prospectRead = (sql: Sql) =>
  loadOne<ProspectKey, Prospect>(sql, {
    asked: "owner text, project text, granted text, keys jsonb",
    select: `select n, o.active as "organizationActive", p.active as "projectActive",
               w.active as "ownerActive", case when not g.deleted then g.project_grant_id end as "grantId",
               g.deleted is true as "isBeingDeleted",
               case when o.requires_acceptance then o.organization_id end as "decidedBy",
               ${offeredAs("project_grant", { recipient: "asked.granted", object: "asked.project", giver: "asked.owner" })} as "offeredAs",
               array(select r.role_key from project_roles r
                     where r.project_id = p.project_id
                       and r.role_key in (select jsonb_array_elements_text(asked.keys))) as known
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             join organizations w on w.organization_id = p.owner
             left join organizations o on o.organization_id = asked.granted and not o.deleted
             left join all_project_grants g
               on g.project_id = p.project_id and g.granted_organization_id = asked.granted`,
  });

/** Finds why a project cannot be granted to an organization. */
export function unfit({ owner, project, granted, keys }: ProspectKey, prospect: Prospect | undefined): No | undefined {
  if (!prospect) return missing("project", project, "projectId");
  const field = "grantedOrganizationId";
  if (granted === owner) return { reason: "GRANT_TO_OWNER", field, violations: [grantToOwner] };
  if (prospect.organizationActive === null) return missing("organization", granted, field);
  const violations = unknownRoles(keys, prospect.known);
  return (
    inactiveIn({ owner, project, granted }, prospect) ??
    (violations.length > 0 ? { reason: "ROLE_UNKNOWN", field: "roleKeys", violations } : undefined) ??
    (prospect.grantId === null ? undefined : grantExists(prospect.grantId)) ??
    (prospect.isBeingDeleted ? beingDeleted(field) : undefined)
  );
}

const reasonsOfMissing = { project: "PROJECT_NOT_FOUND", organization: "ORGANIZATION_NOT_FOUND" } as const;

const missing = (noun: keyof typeof reasonsOfMissing, id: string, field: string): No => ({
  reason: reasonsOfMissing[noun],
  field,
  params: { id },
  resource: { noun, id },
});

const grantToOwner: Violation = { field: "grantedOrganizationId", text: "PROJECT_OWNER_SAME" };

/** Refuses roles that the project does not have, reporting each by its index. */
export function refuseUnknownRoles(keys: readonly string[], there: readonly string[]): void {
  const violations = unknownRoles(keys, there);
  if (violations.length > 0) throw refuse.because("ROLE_UNKNOWN", { violations });
}

export function unknownRoles(keys: readonly string[], there: readonly string[]): Violation[] {
  const known = new Set(there);
  return keys.flatMap((key, at) => (known.has(key) ? [] : roleUnknown(key, at)));
}

type Named = Pick<ProspectKey, "owner" | "project" | "granted">;

function inactiveIn({ owner, project, granted }: Named, prospect: Prospect): No | undefined {
  if (!prospect.ownerActive) return inactive("organization", owner, "projectId");
  if (!prospect.projectActive) return inactive("project", project, "projectId");
  return prospect.organizationActive ? undefined : inactive("organization", granted, "grantedOrganizationId");
}

function roleUnknown(key: string, at: number): Violation {
  return { field: `roleKeys[${at}]`, text: "ROLE_NOT_THERE", params: { key }, reason: "ROLE_UNKNOWN" };
}

function grantExists(projectGrantId: string): No {
  const resource = { noun: "project_grant", id: projectGrantId } as const;
  return { reason: "PROJECT_GRANT_EXISTS", field: "grantedOrganizationId", params: { projectGrantId }, resource };
}

type Missing<R> = { [C in keyof R]: null };

const grantRead = (sql: Sql) =>
  loadOne<{ owner: string; project: string; grant: string }, Versioned | Missing<Versioned>>(sql, {
    asked: `owner text, project text, "grant" text`,
    select: `select n, g.project_grant_id as id, g.owner, g.version, g.created, g.changed
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             left join project_grants g
               on g.owner = p.owner and g.project_grant_id = asked."grant" and g.project_id = p.project_id`,
  });

type GrantRow = Versioned & { projectId: string; grantedOrganizationId: string; roleKeys: string[] };
type GrantsQuery = Pick<ListProjectGrantsRequest, "projectId" | "filter" | "order"> & { readonly only: string | null };

function grantsOf(sql: Sql, { projectId, only, filter, order }: GrantsQuery, { after, limit }: Page) {
  const { grantedOrganizationId: granted = "", roleKey = "" } = filter ?? {};
  const { backwards, beyond } = ageDirection(order);
  const columns = sql`g.project_grant_id as id, g.owner, g.version, g.created, g.changed, g.project_id as "projectId",
    g.granted_organization_id as "grantedOrganizationId",
    array(select role_key from project_grant_roles r
          where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys"`;
  const rest = (id: string) => sql`
    and ${after ? sql`${sql.unsafe(`${id} ${beyond}`)} ${after[0] ?? ""}` : sql`true`}
    order by ${sql.unsafe(`${id} ${backwards}`)} limit ${limit}`;
  if (roleKey && !granted && only === null)
    return sql<GrantRow[]>`
      select ${columns} from project_grant_roles k cross join lateral (
        select * from project_grants where project_grant_id = k.project_grant_id limit 1) g
      where (k.project_id collate "C") = ${projectId} and (k.role_key collate "C") = ${roleKey}
        ${rest(`(k.project_grant_id collate "C")`)}`;
  const one = sql`g.project_id = ${projectId}
    and ${granted ? sql`g.granted_organization_id = ${granted}` : sql`true`}
    and ${only === null ? sql`true` : sql`g.project_grant_id = ${only}`}`;
  const few = granted || only !== null ? one : sql`(g.project_id collate "C") = ${projectId}`;
  const hasRole = sql`exists (
    select from project_grant_roles k where k.project_grant_id = g.project_grant_id and k.role_key = ${roleKey})`;
  return sql<GrantRow[]>`
    select ${columns} from project_grants g
    where ${few} and ${roleKey ? hasRole : sql`true`} ${rest(`(g.project_grant_id collate "C")`)}`;
}

const projectGrant = (row: GrantRow) => ({
  id: row.id,
  details: details(row),
  projectId: row.projectId,
  grantedOrganizationId: row.grantedOrganizationId,
  roleKeys: row.roleKeys,
});
