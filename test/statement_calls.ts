import { create, type DescMethod, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { ListDeliveriesRequestSchema } from "../gen/postern/v1/delivery_pb.ts";
import { ListUsersRequestSchema } from "../gen/postern/v1/user_pb.ts";
import { type PageRequest, queryOf, tokenOf } from "../src/services/reading/page.ts";
import { sections } from "../src/services/user_exports/user_record.ts";
import type { HandlerCall } from "./sent_statements.ts";
import type { Receiver } from "./services/invitations/received.ts";

/** The call for the second page, behind keys that no row has. */
export function secondPage({ input, name }: DescMethod, request: JsonObject): HandlerCall[] {
  if (!input.field.pageToken) return [];
  const query = queryOf(input, fromJson(input, request) as PageRequest);
  if (name === "ExportUser") return [...sections.keys()].map((at) => ofSection(request, query, at));
  const keys = timedKeys[name] ?? ["a", "b"].slice(0, keysOf(name));
  return [{ request: { ...request, pageToken: tokenOf(query, keys) } }];
}

/** The keys of lists by time. */
const timedKeys: Readonly<Record<string, readonly string[]>> = {
  ListEvents: ["2999-01-01T00:00:00.000Z", "1"],
  ListDeliveries: ["0", "d"],
};

/** The call for the next page of one section alone. */
function ofSection(request: JsonObject, query: string, section: number): HandlerCall {
  const keys =
    [
      ["1", ""],
      ["a", "b"],
      ["1.0", "1"],
    ].find((some) => sections[section]?.isPlace(some)) ?? [];
  return { request: { ...request, pageToken: tokenOf(query, [String(section), ...keys]) } };
}

const keysOf = (name: string) =>
  /^List(Users|Organizations|Projects|ProjectRoles|Applications|UserRoles|EndedUserRoles)$/.test(name) ? 2 : 1;

export const grantsInState = (state: string): HandlerCall[] => [
  { request: { state } },
  { request: { userId: "u", state } },
  { request: { userId: "u", projectId: "p", state } },
  { request: { projectId: "p", state } },
  { request: { projectId: "p", roleKey: "r", state } },
];

const gold = { key: "plan", value: "gold" };

const ownerOfInstance = { scope: "instance", id: "i", organization: "i", roles: ["INSTANCE_OWNER"] } as const;

/** What somebody with a role in an organization asks there: names, invitations, and what was given up, there and in the instance. */
export const callsInside = (organizationId: string, deliveryId: string) => {
  const pageToken = tokenOf(queryOf(ListDeliveriesRequestSchema, create(ListDeliveriesRequestSchema)), ["0", "d"]);
  return {
    "NameService.GetNames": nameCalls(organizationId),
    "InvitationService.ListInvitations": invitationCalls(organizationId),
    "DeliveryService.ListDeliveries": [
      { request: {}, memberships: [ownerOf(organizationId)] },
      { request: { pageToken }, memberships: [ownerOf(organizationId)] },
      { request: { instance: true, kind: "DELIVERY_KIND_SMS" }, memberships: [ownerOfInstance] },
    ],
    "DeliveryService.RetryDelivery": [
      { request: { deliveryId, instance: true }, memberships: [ownerOfInstance] },
      { request: { deliveryId }, memberships: [ownerOf(organizationId)] },
    ],
  };
};

const ownerOf = (id: string) => ({ scope: "organization", id, organization: id, roles: ["ORG_OWNER"] }) as const;

export const organizationCalls = (someReach: Pick<HandlerCall, "reach">) => ({
  "OrganizationService.ListOrganizations": organizationLists(someReach),
  "OrganizationService.GetOverview": [{ request: {}, memberships: [ownerOfInstance] }],
});

const organizationLists = (someReach: Pick<HandlerCall, "reach">): HandlerCall[] => [
  { request: { filter: { search: "some" } } },
  { request: {}, ...someReach },
  { request: { filter: { search: "some" } }, ...someReach },
  { request: { filter: { state: "ORGANIZATION_STATE_INACTIVE" } } },
  { request: { filter: { metadata: gold } } },
  { request: { filter: { metadata: gold } }, ...someReach },
];

export const userQueries = [
  { order: "NAME_ORDER_DESCENDING", filter: { state: "USER_STATE_LOCKED", kind: "USER_KIND_HUMAN" } },
  { order: "NAME_ORDER_NEWEST", filter: { state: "USER_STATE_INACTIVE" } },
  { filter: { email: "a@b.c", state: "USER_STATE_ACTIVE", kind: "USER_KIND_MACHINE", search: "ada" } },
  { filter: { search: "ada byron" } },
  { filter: { namePrefix: "ada", phonePrefix: "+41" }, order: "NAME_ORDER_DESCENDING" },
  { filter: { metadata: gold, search: "ada" } },
  { filter: { metadata: gold, email: "a@b.c" } },
  { filter: { emailVerified: true, phoneVerified: false, hasFactor: false, factor: "FACTOR_KIND_TOTP" } },
  {
    filter: {
      ...{ invitationPending: true, lastSignInBefore: "2026-01-01T00:00:00Z" },
      ...{ passwordChangedBefore: "2026-01-01T00:00:00Z" },
    },
  },
  { userIds: ["u"], filter: { search: "ada" } },
  { instance: true, order: "NAME_ORDER_OLDEST", filter: { email: "a@b.c" } },
  { instance: true, userIds: ["u"] },
  { includeMetadata: true },
];

/** Names for callers with roles of each reach. */
const nameCalls = (organization: string): HandlerCall[] =>
  (
    [
      [],
      [{ scope: "instance", id: "i", organization: "i", roles: ["INSTANCE_VIEWER"] }],
      [{ scope: "organization", id: organization, organization, roles: ["ORG_VIEWER"] }],
      [{ scope: "project", id: "p", organization, project: "p", roles: ["PROJECT_OWNER"] }],
      [{ scope: "project_grant", id: "g", organization, project: "p", roles: ["PROJECT_GRANT_VIEWER"] }],
    ] as const
  ).map((memberships) => ({ request: { ids: ["a", "b"] }, memberships }));

/** A page of invitations for somebody with roles on projects and project grants alone. */
const invitationCalls = (organization: string): HandlerCall[] => {
  const on = { organization, project: "p" } as const;
  const memberships = [
    { ...on, scope: "project", id: "p", roles: ["PROJECT_OWNER"] },
    { ...on, scope: "project_grant", id: "g", roles: ["PROJECT_GRANT_OWNER"] },
  ] as const;
  return [{ request: {}, memberships }];
};

/** Lists of the applications of an organization, and of a project. */
export const applicationCalls = (projectId: string): HandlerCall[] =>
  [
    {},
    { filter: { namePrefix: "some" }, order: "NAME_ORDER_NEWEST" },
    { filter: { namePrefix: "some" } },
    { filter: { search: "some" } },
    { filter: { state: "APPLICATION_STATE_INACTIVE" } },
    { filter: { compliance: "APPLICATION_COMPLIANCE_NOT_COMPLIANT" } },
    { filter: { compliance: "APPLICATION_COMPLIANCE_COMPLIANT", search: "some" } },
    { projectId, filter: { compliance: "APPLICATION_COMPLIANCE_NOT_COMPLIANT", state: "APPLICATION_STATE_INACTIVE" } },
    { projectId, filter: { search: "some", state: "APPLICATION_STATE_ACTIVE" } },
    { projectId, filter: { search: "some" } },
    { projectId, filter: { state: "APPLICATION_STATE_INACTIVE" } },
  ].map((request) => ({ request }));

/** The domain of an API with a resource URI. */
export const apiDomain = "statements.example";

export const apiCalls = (projectId: string): HandlerCall[] => [
  { request: { projectId, name: "API with a URI", resourceUris: [`https://api.${apiDomain}/mcp`] } },
];

/** The second page of a search. */
export function secondOfSearch() {
  const filter = { search: "ada" };
  const query = queryOf(ListUsersRequestSchema, create(ListUsersRequestSchema, { filter }));
  return { filter, pageToken: tokenOf(query, ["ada", "a"]) };
}

/** Calls that offer something to an organization that requires acceptance, and the list of what is for one of its users. */
export const offersTo = (
  { organizationId: grantedOrganizationId, person: { userId } }: Receiver,
  projectId: string,
): Readonly<Record<string, readonly HandlerCall[]>> => {
  const grant = { userId, projectId, roleKeys: ["viewer"] };
  return {
    "MemberService.AddMember": [{ request: { userId, roles: ["ORG_VIEWER"] } }],
    "UserGrantService.AddUserGrant": [{ request: grant }],
    "UserGrantService.AddUserGrants": [{ request: { items: [{ ...grant, roleKeys: [] }] } }],
    "ProjectService.GrantProject": [{ request: { projectId, grantedOrganizationId } }],
    "InvitationService.ListReceivedInvitations": [{ request: { userId: "u" } }],
  };
};

/** The types of facts that are appended together. */
export const together = [
  // A sign-in that replaces the password.
  ["session.created", "user.password_changed"],
  // One that a factor completes uses the factor, and the first factor of a session that may only enrol one lifts its restriction.
  ["factor.used", "session.created"],
  ["factor.used", "session.created", "user.password_changed"],
  // A link of an administrator who goes on to a passkey.
  ["session.created", "user.password_removed"],
  ["factor.totp_added", "session.unrestricted"],
  ["factor.passkey_added", "session.unrestricted"],
  // Whoever accepts an invitation gets what it offers.
  ["invitation.accepted", "member.added", "user_grant.added"],
  ["invitation.accepted", "member.added"],
  ["invitation.declined", "user.roles_ended"],
  ["user.human_created", "registration.completed"],
];

// Sent only after a failed sign-in, when the queue of password hashes is full, the old password was wrong too often, a user has more
// sessions than it may, or makes a token in one, or gets a role while somebody makes a code for it, or an event is listed before it has a
// number; nothing of it is composed.
export const unsent: readonly string[] = [
  ...["with mailed as (delete from mail_codes where user_id =", ") delete from phone_codes where user_id ="],
  "and creator_id =",
  ...[
    "select numbered.position, numbered.number,",
    "as batch from event_numbers numbered where numbered.position = any(",
  ],
  "::text[]::bigint[])",
  "select exists (select from passwords where imported) as imported",
  ...["update password_attempts set attempts = attempts - 1 where user_id =", "and attempts between 1 and"],
  "select blocked_until as until from password_change_attempts where user_id =",
  "select blocked_until as until from factor_attempts where user_id =",
  "update password_change_attempts set attempts = attempts - 1, blocks = blocks - (blocked_until is not null)::integer, blocked_until = null where user_id =",
  "and attempts > 0",
  "select s.session_id as id, s.owner, s.version, s.created, s.changed from sessions s where s.user_id =",
  "order by s.session_id desc offset",
  "select from sessions where session_id =",
];
