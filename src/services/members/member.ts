import type { ServiceImpl } from "@connectrpc/connect";
import {
  AddMemberRequestSchema,
  ChangeMemberRequestSchema,
  type ListMembersRequest,
  ListMembersRequestSchema,
  type MemberService,
  RemoveMemberRequestSchema,
} from "../../../gen/postern/v1/member_pb.ts";
import { RoleKind } from "../../../gen/postern/v1/user_role_pb.ts";
import { type Call, type Deps, type Membership, organizationOf, reachOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next, type Versioned } from "../../events/fact.ts";
import { type NounFolds, touch } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import { uncovered } from "../../guards/missing_permission.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { isEnded } from "../callers/ended_roles.ts";
import { isHidden, membershipIsLeft, organizationIsThere, userIsThere } from "../callers/in_force.ts";
import { ageDirection, cut, type Page, pageOf, pageRule } from "../reading/page.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import { type Acceptance, deciderIn, deciderOfUser, offeredAs, offering, unaccepted } from "../writing/offer.ts";
import { listedRoles, scopeOfRole } from "./administrative_role.ts";
import { outgrownBy, outgrownCodesEnd, outgrownCredentialsEnd, outgrownTokensEnd } from "./ended_by_role.ts";
import { activeOwners, keepsAnOwner, owning } from "./last_owner.ts";

export const memberService = (deps: Deps) => {
  const { log, sql, clock, ids } = deps;
  const outgrown = outgrownBy(deps);
  const standingIn = standingRead(sql);
  const objectThere = objectRead(sql);

  return {
    async addMember({ userId, roles, ...request }, call) {
      const object = objectOf(request, call);
      const standing = await standingIn(object, userId, call);
      refuseMember(standing, userId);
      const receiver = deciderIn(standing, call);
      if (receiver !== undefined) return offered({ object, userId, roles, standing, receiver }, call);
      const at = first(object.owner, ids(), clock());
      const value = { userId, roles, ...namedBy(object, standing.projectId) };
      const { count, secret } = await outgrown({ userId, target: targetOf(object, roles) }, call);
      const added = factOf("member", at, { case: "added", value }, secret);
      return log.append(call, [added], { details: detailsAfter(at), endedCredentials: count });
    },

    async changeMember({ userId, roles, expectedSequence, ...request }, call) {
      const object = objectOf(request, call);
      const standing = await standingIn(object, userId, call);
      const { member, othersOwn } = standing;
      if (!member) throw refuse.notFound("member", userId);
      refuseOvertaken(member, expectedSequence);
      if (sameSet(member.roles, roles)) return log.append(call, [], { details: details(member) });
      if (owns(member.roles) && !owns(roles) && !othersOwn) throw refuse.because("LAST_OWNER");
      if (deciderIn(standing, call) !== undefined) refuseMore(object, member.roles, roles);
      const at = next(member, clock());
      const { count, secret } = await outgrown({ userId, target: targetOf(object, roles) }, call);
      const changed = { ...factOf("member", at, { case: "changed", value: { roles } }, secret), about: userId };
      return log.append(call, [changed], { details: detailsAfter(at), endedCredentials: count });
    },

    async listMembers(request, call) {
      const page = pageOf(ListMembersRequestSchema, request, 1);
      const object = objectOf(request, call);
      if (!(await objectThere(object, call.signal))) throw missing(object);
      const rows = await membersOf(sql, { object, ...request }, page);
      const { rows: answered, nextPageToken } = cut(rows, page, ({ id }) => [id]);
      return { members: answered.map((row) => member(row, object)), nextPageToken };
    },

    listRoles: () => listedRoles,

    async removeMember({ userId, ...request }, call) {
      const { member, othersOwn } = await standingIn(objectOf(request, call), userId, call);
      if (!member) throw refuse.notFound("member", userId);
      if (owns(member.roles) && !othersOwn) throw refuse.because("LAST_OWNER");
      const at = next(member, clock());
      const removed = factOf("member", at, { case: "removed", value: { userId } });
      return log.append(call, [removed], { details: detailsAfter(at) });
    },
  } satisfies ServiceImpl<typeof MemberService>;

  /** Offers a membership to the user's organization, which has to accept it. */
  async function offered({ object, userId, roles, standing, receiver }: OfferedMember, call: Call) {
    const projectGrantId = object.scope === "project_grant" ? object.id : "";
    const membership = { roles, projectId: standing.projectId ?? "", projectGrantId };
    const { owner } = object;
    const { offeredAs } = standing;
    const [one] = await offering(deps)([{ owner, receiver, offeredAs, path: "", userId, membership }]);
    if (!one?.fact) throw one ? refuse.because(one.no.reason, one.no) : new Error("an offer was not decided");
    const { at } = one.fact;
    return log.append(call, [one.fact], { details: detailsAfter(at), endedCredentials: 0, invitationId: at.stream });
  }
};

type OfferedMember = {
  readonly object: MembershipObject;
  readonly userId: string;
  readonly roles: string[];
  readonly standing: StandingFindings;
  readonly receiver: string;
};

function refuseMember({ userExists, member, isEnded: ended }: StandingFindings & Standings, userId: string): void {
  if (!userExists) throw refuse.notFound("user", userId);
  if (member) throw memberExists(userId);
  if (ended) throw refuse.because("ENDED_BY_RECEIVER", { params: { userId } });
}

/** Refuses roles that give more than the user's organization has accepted. */
function refuseMore(object: MembershipObject, accepted: readonly string[], roles: readonly string[]): void {
  if (!uncovered({ memberships: [targetOf(object, accepted)] }, [targetOf(object, roles)])) return;
  const no = unaccepted("roles");
  throw refuse.because(no.reason, no);
}

export const memberFolds = {
  added: {
    views: [
      `insert into members (owner, member_id, user_id, scope, scope_id, project_id, project_grant_id, roles,
         version, created, changed)
       select f.owner, f.stream, f.payload->>'userId',
         case when f.payload ? 'projectGrantId' then 'project_grant' when f.payload ? 'projectId' then 'project'
              when f.payload ? 'organizationId' then 'organization' else 'instance' end,
         coalesce(f.payload->>'projectGrantId', f.payload->>'projectId', f.payload->>'organizationId', f.owner),
         f.payload->>'projectId', f.payload->>'projectGrantId',
         array(select jsonb_array_elements_text(f.payload->'roles')), f.version, f.time, f.time
       from $facts f`,
    ],
    credentials: outgrownCodesEnd,
    cascades: [outgrownTokensEnd, outgrownCredentialsEnd],
  },
  changed: {
    views: [touch("members", "member_id", `roles = array(select jsonb_array_elements_text(f.payload->'roles'))`)],
    credentials: outgrownCodesEnd,
    cascades: [
      ...[outgrownTokensEnd, outgrownCredentialsEnd],
      keepsAnOwner(
        "member.changed",
        `m.owner = i.owner and m.member_id = i.stream and not i.payload->'roles' ? ${owning("m.scope")}`,
      ),
    ],
  },
  removed: {
    views: [`delete from members m using $facts f where m.owner = f.owner and m.member_id = f.stream`],
    cascades: [keepsAnOwner("member.removed", `m.owner = i.owner and m.member_id = i.stream`)],
  },
} satisfies NounFolds<"member">;

type Scope = Membership["scope"];
type ObjectFields = { instance: boolean; organizationId: string; projectId: string; projectGrantId: string };

/** The object of a membership, in the organization of the call. */
export type MembershipObject = {
  readonly owner: string;
  readonly scope: Scope;
  readonly id: string;
  readonly project: string;
};

function objectOf(named: ObjectFields, call: Call): MembershipObject {
  const { organizationId, projectId, projectGrantId } = named;
  const owner = organizationOf(call);
  const scope = scopeOf(named);
  if (scope !== "instance" && organizationId && organizationId !== owner)
    throw refuse.notFound("organization", organizationId);
  switch (scope) {
    case "project_grant":
      return within({ owner, scope, id: projectGrantId, project: projectId }, call);
    case "project":
      return within({ owner, scope, id: projectId, project: projectId }, call);
    case "organization":
    case "instance":
      return { owner, scope, id: owner, project: "" };
  }
}

export const targetOf = ({ owner, scope, id, project }: MembershipObject, roles: readonly string[]): Membership => ({
  scope,
  id,
  organization: owner,
  roles,
  ...(project ? { project } : {}),
});

export function scopeOf({ instance, projectId, projectGrantId }: Omit<ObjectFields, "organizationId">): Scope {
  if (instance) return "instance";
  if (projectGrantId) return "project_grant";
  return projectId ? "project" : "organization";
}

const objectFields = ["instance", "organizationId", "projectId", "projectGrantId"];

export const memberRules = [
  ...[AddMemberRequestSchema, ChangeMemberRequestSchema].map((type) => messageRule(type, wrongIn, objectFields)),
  ...[ListMembersRequestSchema, RemoveMemberRequestSchema].map((type) =>
    messageRule(type, besideInstance, objectFields),
  ),
  pageRule(ListMembersRequestSchema, 1),
];

function wrongIn(request: ObjectFields & { readonly roles: readonly string[] }): Violation[] {
  const beside = besideInstance(request);
  return beside.length > 0 ? beside : foreign(request.roles, scopeOf(request));
}

function besideInstance({ instance, organizationId, projectId, projectGrantId }: ObjectFields): Violation[] {
  const others = instance ? { organizationId, projectId, projectGrantId } : {};
  return Object.entries(others).flatMap(([field, id]) =>
    id ? [{ field, text: "FIELD_EMPTY", params: { other: "instance" }, reason: "MUTUALLY_EXCLUSIVE" }] : [],
  );
}

/** Refuses an object beyond the caller's reach: a role on one project or project grant gives no access to another. */
function within(object: MembershipObject, call: Call): MembershipObject {
  const reach = reachOf(call);
  const reached = reach.whole || [...reach.projects, ...reach.projectGrants].includes(object.id);
  if (!reached) throw missing(object);
  return object;
}

const missing = ({ scope, id }: MembershipObject) => refuse.notFound(scope === "instance" ? "organization" : scope, id);

const texts = {
  instance: "ROLE_ON_INSTANCE",
  organization: "ROLE_ON_ORGANIZATION",
  project: "ROLE_ON_PROJECT",
  project_grant: "ROLE_ON_PROJECT_GRANT",
} as const satisfies Record<Scope, string>;

/** Finds the roles that cannot be held in a scope. */
export function foreign(roles: readonly string[], scope: Scope): Violation[] {
  return roles.flatMap((role, at) => {
    const home = scopeOfRole(role);
    // The field rule refuses unknown roles.
    if (home === undefined || home === scope) return [];
    return [{ field: `roles[${at}]`, text: texts[home], params: { role }, reason: "MEMBER_ROLE_SCOPE" }];
  });
}

function memberExists(userId: string) {
  return refuse.because("MEMBER_EXISTS", { params: { userId }, resource: { noun: "member", id: userId } });
}

/** Whether the roles include an owner's; each can be held in one scope only. */
const owns = (roles: readonly string[]) => roles.includes("INSTANCE_OWNER") || roles.includes("ORG_OWNER");

const sameSet = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((one) => others.includes(one));

/** The ids by which a fact names the object of a membership. */
export function namedBy({ scope, id }: MembershipObject, projectId: string | null) {
  switch (scope) {
    case "instance":
      return {};
    case "organization":
      return { organizationId: id };
    case "project":
      return { projectId: id };
    case "project_grant":
      return { projectGrantId: id, projectId: projectId ?? undefined };
  }
}

type MemberRow = Versioned & { readonly userId: string; readonly roles: readonly string[]; readonly isMatch?: boolean };
type StandingFindings = Acceptance & {
  readonly objectExists: boolean;
  readonly projectId: string | null;
  readonly userExists: boolean;
  /** Whether the user, or its organization, has ended the roles given by the organization of the call. */
  readonly isEnded: boolean;
  /** Whether the instance, or the organization, has another active owner. */
  readonly othersOwn: boolean;
};
type Standings = { readonly member: MemberRow | undefined };
type StandingKey = MembershipObject & { readonly user: string };
type Standing = StandingFindings & (MemberRow | { [C in keyof MemberRow]: null });

export const askedObject = `from asked
             left join projects p on asked.scope = 'project' and p.owner = asked.owner and p.project_id = asked.id
             left join project_grants g on asked.scope = 'project_grant' and g.project_grant_id = asked.id
               and g.granted_organization_id = asked.owner and asked.project in ('', g.project_id)
               and ${organizationIsThere("g.owner")}`;

/** The columns of an Acceptance of a membership. An owner of the instance decides about every organization. */
export const acceptanceOfMember = `case when asked.scope <> 'instance' then ${deciderOfUser('asked."user"', "asked.owner")} end as "decidedBy",
               ${offeredAs("member", { recipient: 'asked."user"', object: "asked.id", giver: "asked.owner" })} as "offeredAs"`;

const objectRead = (sql: Sql) =>
  loadOne<MembershipObject, object>(sql, {
    asked: "owner text, scope text, id text, project text",
    select: `select n ${askedObject}
             where asked.scope in ('instance', 'organization') or coalesce(p.project_id, g.project_id) is not null`,
  });

/** Finds a user's membership on an object; fails if the object is not in the organization of the call. */
function standingRead(sql: Sql) {
  const read = loadOne<StandingKey, Standing>(sql, {
    asked: `owner text, scope text, id text, project text, "user" text`,
    select: `select n, coalesce(p.project_id, g.project_id) as "projectId",
               asked.scope in ('instance', 'organization') or coalesce(p.project_id, g.project_id) is not null as "objectExists",
               ${userIsThere('asked."user"')} as "userExists",
               ${isEnded(RoleKind.MEMBERSHIP, { user: 'asked."user"', giver: "asked.owner" })} as "isEnded",
               exists (select from ${activeOwners("asked.scope", "asked.id")} and o.user_id <> asked."user") as "othersOwn",
               ${acceptanceOfMember},
               m.user_id as "userId", m.roles, m.member_id as id, m.owner, m.version, m.created, m.changed
             ${askedObject}
             left join members m on m.user_id = asked."user" and m.scope = asked.scope and m.scope_id = asked.id
               and ${membershipIsLeft}`,
  });
  return async (object: MembershipObject, user: string, call: Call): Promise<StandingFindings & Standings> => {
    const row = await read({ ...object, user }, call.signal);
    if (!row?.objectExists) throw missing(object);
    return { ...row, member: row.id === null ? undefined : row };
  };
}

type MemberQuery = Pick<ListMembersRequest, "filter" | "order"> & { readonly object: MembershipObject };

function membersOf(sql: Sql, { object, filter, order }: MemberQuery, { after, limit }: Page) {
  const { userId = "", role = "" } = filter ?? {};
  const { backwards, beyond } = ageDirection(order);
  const columns = sql`m.user_id as "userId", m.roles, m.member_id as id, m.owner, m.version, m.created, m.changed,
    ${sql.unsafe(`${membershipIsLeft} and not ${isHidden("m.user_id")}`)} as "isMatch"`;
  const rest = (id: string) => sql`
    and ${after ? sql`${sql.unsafe(`${id} ${beyond}`)} ${after[0] ?? ""}` : sql`true`}
    order by ${sql.unsafe(`${id} ${backwards}`)} limit ${limit}`;
  // Terms are stored in the order of the list; a member's roles are not.
  if (role && !userId)
    return sql<MemberRow[]>`
      select ${columns} from terms w cross join lateral (
        select * from members where owner = ${object.owner} and member_id = w.object_id limit 1) m
      where w.noun = 'member' and w.scope = ${object.id} and w.term = ${role} ${rest("w.object_id")}`;
  // A row comparison finds a member by its key; separate columns read the whole scope if the table has not been analyzed yet.
  const key = sql`(${userId}, ${object.scope}, ${object.id})`;
  const one = sql`(
    select * from members m where (m.user_id, m.scope, m.scope_id) between ${key} and ${key} offset 0) m where true`;
  const all = sql`members m where m.scope = ${object.scope} and m.scope_id = ${object.id}`;
  return sql<MemberRow[]>`
    select ${columns} from ${userId ? one : all}
      and ${role ? sql`${role} = any(m.roles)` : sql`true`} ${rest("m.member_id")}`;
}

const member = ({ userId, roles, isMatch: _, ...row }: MemberRow, { scope, id }: MembershipObject) => ({
  details: details(row),
  userId,
  roles: [...roles],
  ...(scope === "organization" ? { organizationId: id } : {}),
  ...(scope === "project" ? { projectId: id } : {}),
  ...(scope === "project_grant" ? { projectGrantId: id } : {}),
});
