import { create, type DescMethod, fromJson, type JsonObject } from "@bufbuild/protobuf";
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
  const keys = name === "ListEvents" ? ["2999-01-01T00:00:00.000Z", "1"] : ["a", "b"].slice(0, keysOf(name));
  return [{ request: { ...request, pageToken: tokenOf(query, keys) } }];
}

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

export const organizationCalls = (someReach: Pick<HandlerCall, "reach">): HandlerCall[] => [
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
  ["factor.totp_added", "session.unrestricted"],
  ["factor.passkey_added", "session.unrestricted"],
  // Whoever accepts an invitation gets what it offers.
  ["invitation.accepted", "member.added", "user_grant.added"],
  ["invitation.accepted", "member.added"],
  ["invitation.declined", "user.roles_ended"],
  ["user.human_created", "registration.completed"],
];
