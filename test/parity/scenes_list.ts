import type { JsonObject } from "@bufbuild/protobuf";
import type { Scene, Stage } from "./stage.ts";

type Extras = Pick<Scene, "fields">;

const scene = (
  rpc: string,
  says: Scene["says"],
  [name, request]: [string, JsonObject],
  extras: Extras = {},
): Scene => ({
  ...{ rpc, says, name, given: () => ({ request }) },
  ...extras,
});

const users = (says: Scene["says"], about: [string, JsonObject], extras?: Extras) =>
  scene("UserService.ListUsers", says, about, extras);

const ofProject = (rpc: string, name: string, request: JsonObject): Scene => ({
  ...{ rpc, says: "OK", name },
  given: ({ fixture: { projectId } }: Stage) => ({ request: { projectId, ...request } }),
});

const text = { name: "project", namePrefix: "PRO", search: "proj" };

const anybody = {
  ...{ objectId: "none", actorId: "none", aboutUserId: "none", projectId: "none", onBehalfOfId: "none" },
  ...{ since: "2001-01-01T00:00:00Z", until: "2101-01-01T00:00:00Z", pageSize: 1 },
};

/** Lists with filters and orders, and what is refused about them. */
export const listScenes: readonly Scene[] = [
  {
    ...{ rpc: "UserService.ListUsers", says: "OK", name: "by every filter at once" },
    given: ({ fixture: { loginName } }) => ({
      request: {
        filter: {
          ...{ loginName: loginName.toUpperCase(), loginNamePrefix: "NAMED", name: "ada BYRON", namePrefix: "ada" },
          ...{ email: "ADA@example.com", emailPrefix: "ada@", state: "USER_STATE_ACTIVE", kind: "USER_KIND_HUMAN" },
          search: "byr named",
        },
        includeMetadata: true,
      },
    }),
  },
  users("OK", ["by a phone that nobody has", { filter: { phone: "+41 44 000 00 00", phonePrefix: "+4144" } }]),
  users("OK", ["backwards", { order: "NAME_ORDER_DESCENDING", filter: { loginNamePrefix: "named-" } }]),
  users("VALIDATION_FAILED", ["by a search without words", { filter: { search: "--" } }], {
    fields: ["filter.search"],
  }),
  users("VALIDATION_FAILED", ["by phones without a digit", { filter: { phone: "()", phonePrefix: "-" } }], {
    fields: ["filter.phone", "filter.phonePrefix"],
  }),
  users("VALIDATION_FAILED", ["by a search of nine words", { filter: { search: "a b c d e f g h i" } }], {
    fields: ["filter.search"],
  }),
  users("VALIDATION_FAILED", ["by a text and by age", { filter: { name: "a" }, order: "NAME_ORDER_NEWEST" }], {
    fields: ["order"],
  }),
  users("VALIDATION_FAILED", ["by a text that is too long", { filter: { email: "a".repeat(201) } }], {
    fields: ["filter.email"],
  }),
  users("OK", ["by metadata", { filter: { metadata: { key: "plan", value: "gold" }, search: "ada" } }]),
  users("VALIDATION_FAILED", ["by metadata without a key", { filter: { metadata: { value: "gold" } } }], {
    fields: ["filter.metadata.key"],
  }),
  users("PAGE_TOKEN_INVALID", ["with the token of another query", { pageToken: "WyJhIiwiYiIsImMiXQ" }], {
    fields: ["pageToken"],
  }),
  scene("OrganizationService.ListOrganizations", "OK", ["by name", { filter: text }]),
  scene("OrganizationService.ListOrganizations", "OK", [
    "by name and state",
    { filter: { namePrefix: "PAR", state: "ORGANIZATION_STATE_ACTIVE" } },
  ]),
  scene("ProjectService.ListProjects", "OK", [
    "by state",
    { filter: { state: "PROJECT_STATE_INACTIVE" }, includeGranted: true },
  ]),
  ofProject("ApplicationService.ListApplications", "by state", {
    filter: { search: "app", state: "APPLICATION_STATE_ACTIVE" },
  }),
  ofProject("UserGrantService.ListUserGrants", "by state", { state: "USER_GRANT_STATE_ACTIVE" }),
  ofProject("UserGrantService.ListUserGrants", "by role and state", {
    roleKey: "viewer",
    state: "USER_GRANT_STATE_INACTIVE",
  }),
  scene("ProjectService.ListProjects", "OK", ["by name", { filter: text, includeGranted: true }]),
  ofProject("ProjectService.ListProjectRoles", "by key", {
    filter: { key: "VIEWER", keyPrefix: "v", search: "view" },
    descending: true,
  }),
  ofProject("ProjectService.ListProjectGrants", "by role", {
    filter: { roleKey: "none", grantedOrganizationId: "none" },
  }),
  ofProject("ApplicationService.ListApplications", "by name", { filter: text, order: "NAME_ORDER_DESCENDING" }),
  ofProject("UserGrantService.ListUserGrants", "by role", { roleKey: "none", order: "AGE_ORDER_OLDEST" }),
  scene("UserGrantService.ListUserGrants", "VALIDATION_FAILED", ["by a role of no project", { roleKey: "viewer" }], {
    fields: ["projectId"],
  }),
  scene("MemberService.ListMembers", "OK", ["by user and role", { filter: { userId: "me", role: "ORG_VIEWER" } }]),
  scene("MemberService.ListMembers", "VALIDATION_FAILED", ["by an unknown role", { filter: { role: "KING" } }], {
    fields: ["filter.role"],
  }),
  scene("EventService.ListEvents", "OK", ["by everything at once", { ...anybody, types: ["delegation.begun"] }]),
  scene("EventService.ListEvents", "OK", ["on behalf of nobody", { onBehalfOfId: "nobody" }]),
  scene(
    "EventService.ListEvents",
    "VALIDATION_FAILED",
    ["on behalf of too long an id", { onBehalfOfId: "a".repeat(201) }],
    {
      fields: ["onBehalfOfId"],
    },
  ),
  scene("UserService.GetUserByLoginName", "USER_NOT_FOUND", ["of nobody", { loginName: "nobody at all" }]),
];
