import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ApplicationCompliance,
  ApplicationState,
  ListApplicationsRequestSchema,
} from "../../gen/postern/v1/application_pb.ts";
import { AgeOrder, NameOrder } from "../../gen/postern/v1/list_order_pb.ts";
import { ListMembersRequestSchema } from "../../gen/postern/v1/member_pb.ts";
import { ListOrganizationsRequestSchema, OrganizationState } from "../../gen/postern/v1/organization_pb.ts";
import {
  ListProjectGrantsRequestSchema,
  ListProjectRolesRequestSchema,
  ListProjectsRequestSchema,
  ProjectState,
} from "../../gen/postern/v1/project_pb.ts";
import { ListUserGrantsRequestSchema, UserGrantState } from "../../gen/postern/v1/user_grant_pb.ts";
import { ListUsersRequestSchema, UserKind, UserState } from "../../gen/postern/v1/user_pb.ts";
import { readConfig } from "../../src/config/config.ts";
import { type Deps, keys, type Reach } from "../../src/deps.ts";
import { applicationService } from "../../src/services/applications/application.ts";
import { memberService } from "../../src/services/members/member.ts";
import { organizationService } from "../../src/services/organizations/organization.ts";
import { projectService } from "../../src/services/projects/project.ts";
import { userGrantService } from "../../src/services/user_grants/user_grant.ts";
import { userService } from "../../src/services/users/user.ts";
import { type Cluster, newDatabase, startCluster } from "../cluster.ts";
import { openClient } from "../fixture/database_client.ts";
import { type Postern, startPostern } from "../harness.ts";
import { askedBy, callIn, found, planAsTheService } from "./plan.ts";

const many = 10_000;
const pageSize = 20;

/** Ten thousand of everything in one organization, beside as many users elsewhere. The rare ones stand at the end. */
const filling = `
  insert into organizations (organization_id, name, version, created, changed)
  select 'o' || n, 'Organization ' || n || ' number', 1, now(), now() from generate_series(1, ${many}) n;
  insert into users (owner, user_id, kind, username, given_name, family_name, email, phone, name, active, locked,
    version, created, changed)
  select case when n > ${many} then 'o2' else 'o1' end, 'u' || n, case when n % 1000 = 999 then 'machine' else 'human' end,
    'user' || n, 'Ada', 'Byron' || case when n % 2 = 0 then 0 else n end, 'mail' || n || '@example.com', '+4179' || (2000000 + n), null, n % 1000 <> 998,
    n % 1000 = 997, 1, now(), now()
  from generate_series(1, 2 * ${many}) n;
  insert into projects (owner, project_id, name, version, created, changed)
  select 'o1', 'p' || n, 'Project ' || n || ' thing', 1, now(), now() from generate_series(1, ${many}) n;
  insert into project_roles (owner, project_id, role_key, display_name)
  select 'o1', 'p1', 'role' || n, 'Role ' || n || ' shown' from generate_series(1, ${many}) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
  select 'o1', 'a' || n, 'p1', 'Application ' || n || ' client', 'c' || n, '{}', 1, now(), now() from generate_series(1, ${many}) n;
  insert into project_grants (owner, project_grant_id, project_id, granted_organization_id, version, created, changed)
  select 'o1', 'g' || n, 'p1', 'o' || n, 1, now(), now() from generate_series(2, ${many}) n;
  insert into project_grant_roles (owner, project_grant_id, project_id, role_key)
  select 'o1', 'g' || n, 'p1', 'role' || n % 500 + 1 from generate_series(2, ${many}) n;
  insert into members (owner, member_id, user_id, scope, scope_id, roles, version, created, changed)
  select 'o1', 'm' || n, 'u' || n, 'organization', 'o1', array[case when n % 1000 = 1 then 'ORG_OWNER' else 'ORG_VIEWER' end],
    1, now(), now() from generate_series(1, ${many}) n;
  insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
  select 'o1', 'x' || n || '-' || p, 'u' || n, 'p' || p, 1, now(), now()
  from generate_series(1, ${many}) n cross join generate_series(1, 2) p;
  insert into user_grants (owner, user_grant_id, user_id, project_id, project_grant_id, version, created, changed)
  select 'o2', 'y' || n, 'u' || n, 'p1', 'g2', 1, now(), now() from generate_series(1, ${many}) n;
  insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
  select 'o1', 'z' || n, 'u7', 'p' || n, 1, now(), now() from generate_series(3, 3000) n;
  insert into user_grant_roles (owner, user_grant_id, project_id, role_key)
  select 'o1', 'x' || n || '-1', 'p1', 'role' || n % 200 + 1 from generate_series(1, ${many}) n;
  insert into user_metadata (owner, user_id, key, value)
  select owner, user_id, key, case when key = 'plan' then 'gold' else user_id end
  from users cross join unnest(array['plan', 'desk']) key where user_id like 'u%';
  insert into organization_metadata (organization_id, key, value)
  select organization_id, key, case when key = 'plan' then 'gold' else organization_id end
  from organizations cross join unnest(array['plan', 'desk']) key;
  update organizations set active = false where organization_id like 'o%996';
  update projects set active = false where project_id like 'p%996';
  update applications set active = false where app_id like 'a%996';
  update applications set compliance_version = 1,
    compliance_problems = case when app_id like 'a%994' then '{NO_REDIRECT_URIS}' else '{}' end::text[];
  update user_grants set active = false where user_id like 'u%996' or user_grant_id like 'z%996';
  update user_grants set expiration_date = '2099-01-01' where user_id like 'u%995' or user_grant_id like 'z%995';`;

const soon = timestampFromDate(new Date("2100-01-01T00:00:00Z"));

type Parts = Omit<Deps, "log">;
type Case = readonly [
  name: string,
  index: string,
  list: (parts: Parts, pageToken: string, call: HandlerContext) => List,
];
type List = Promise<{ nextPageToken?: string | undefined }>;

const nothing = () => expect.fail("nothing is written");
const noLog = { append: nothing, appendLong: nothing, appendIf: nothing };
const text = { name: NameOrder.ASCENDING, back: NameOrder.DESCENDING } as const;

const gold = { key: "plan", value: "gold" };
const users = (filter: object, order: NameOrder = text.name, more: object = {}): Case[2] => {
  return (parts, pageToken, call) =>
    userService({ ...parts, log: noLog }, readConfig({})).listUsers(
      create(ListUsersRequestSchema, { filter, order, pageSize, pageToken, ...more }),
      call,
    ) as List;
};
const organizations = (filter: object, order: NameOrder = text.name): Case[2] => {
  return (parts, pageToken, call) =>
    organizationService({ ...parts, log: noLog }).listOrganizations(
      create(ListOrganizationsRequestSchema, { filter, order, pageSize, pageToken }),
      call,
    ) as List;
};
const projects = (filter: object, order: NameOrder = text.name): Case[2] => {
  return (parts, pageToken, call) =>
    projectService({ ...parts, log: noLog }).listProjects(
      create(ListProjectsRequestSchema, { filter, order, pageSize, pageToken }),
      call,
    ) as List;
};
const roles = (filter: object, descending = false): Case[2] => {
  return (parts, pageToken, call) =>
    projectService({ ...parts, log: noLog }).listProjectRoles(
      create(ListProjectRolesRequestSchema, { projectId: "p1", filter, descending, pageSize, pageToken }),
      call,
    ) as List;
};
const projectGrants = (filter: object, order: AgeOrder = AgeOrder.NEWEST): Case[2] => {
  return (parts, pageToken, call) =>
    projectService({ ...parts, log: noLog }).listProjectGrants(
      create(ListProjectGrantsRequestSchema, { projectId: "p1", filter, order, pageSize, pageToken }),
      call,
    ) as List;
};
const applications = (filter: object, order: NameOrder = text.name): Case[2] => {
  return (parts, pageToken, call) =>
    applicationService({ ...parts, log: noLog }).listApplications(
      create(ListApplicationsRequestSchema, { projectId: "p1", filter, order, pageSize, pageToken }),
      call,
    ) as List;
};
const applicationsOfAll = (filter: object, order: NameOrder = text.name): Case[2] => {
  return (parts, pageToken, call) =>
    applicationService({ ...parts, log: noLog }).listApplications(
      create(ListApplicationsRequestSchema, { filter, order, pageSize, pageToken }),
      call,
    ) as List;
};
const members = (filter: object, order: AgeOrder = AgeOrder.NEWEST): Case[2] => {
  return (parts, pageToken, call) =>
    memberService({ ...parts, log: noLog }).listMembers(
      create(ListMembersRequestSchema, { filter, order, pageSize, pageToken }),
      call,
    ) as List;
};

type GrantsOf = {
  userId?: string;
  projectId?: string;
  roleKey?: string;
  state?: UserGrantState;
  order?: AgeOrder;
  expiresBefore?: Timestamp;
};

const grants = (request: GrantsOf, reach: Reach = { whole: true }): Case[2] => {
  return (parts, pageToken, call) => {
    call.values.set(keys.reach, reach);
    const asked = create(ListUserGrantsRequestSchema, { ...request, pageSize, pageToken });
    return userGrantService({ ...parts, log: noLog }).listUserGrants(asked, call) as List;
  };
};
const someReach = { whole: false, organizations: [], projects: ["p2"], projectGrants: ["g2"] } as const;
const guest =
  (ask: Case[2]): Case[2] =>
  (parts, pageToken, call) =>
    ask(parts, pageToken, { ...call, values: call.values.set(keys.organization, "o2") });

const { ACTIVE: active, INACTIVE: inactive } = UserGrantState;

const cases: readonly Case[] = [
  ["users", "users_username", users({})],
  ["users, backwards", "users_username", users({}, text.back)],
  ["users, newest first", "users_pkey", users({}, NameOrder.NEWEST)],
  ["users by ids", "users_", users({}, NameOrder.UNSPECIFIED, { userIds: ["u7", "u77", "nobody"] })],
  [
    "users by ids, everywhere",
    "users_",
    users({}, NameOrder.OLDEST, { userIds: ["u7", "u77", "nobody"], instance: true }),
  ],
  ["users of all organizations", "users_", users({}, NameOrder.UNSPECIFIED, { instance: true })],
  ["users of all organizations, by name", "users_", users({ search: "ada" }, NameOrder.OLDEST, { instance: true })],
  ["users without a factor", "users_username", users({ hasFactor: false })],
  ["users who have not signed in", "users_username", users({ lastSignInBefore: soon })],
  ["users who are invited", "users_username", users({ invitationPending: false, emailVerified: false })],
  ["users by login name", "users_folded_username", users({ loginName: "USER77" })],
  ["users by the beginning of the login name", "users_folded_username", users({ loginNamePrefix: "USER7" })],
  [
    "users by the beginning of the login name, backwards",
    "users_folded_username",
    users({ loginNamePrefix: "u" }, text.back),
  ],
  ["users by name", "users_folded_name", users({ name: "ada byron77" })],
  ["users by a name that half of them have", "users_folded_name", users({ name: "ada byron0" })],
  ["users by a name that half of them have, backwards", "users_folded_name", users({ name: "ada byron0" }, text.back)],
  ["users by the beginning of the name", "users_folded_name", users({ namePrefix: "ada" })],
  ["users by e-mail", "users_folded_email", users({ email: "MAIL77@example.com" })],
  ["users by the beginning of the e-mail", "users_folded_email", users({ emailPrefix: "mail" })],
  ["users by phone", "users_phone", users({ phone: "+41792000077" })],
  ["users by the beginning of the phone", "users_phone", users({ phonePrefix: "+4179" })],
  ["users of a kind", "users_of_kind", users({ kind: UserKind.MACHINE })],
  ["users that are inactive", "users_active", users({ state: UserState.INACTIVE })],
  ["users that are active", "users_", users({ state: UserState.ACTIVE })],
  ["users that are locked", "users_locked", users({ state: UserState.LOCKED }, text.back)],
  ["users by a word that all have", "terms_by_term", users({ search: "byr" })],
  ["users by a word that all have, backwards", "terms_by_term", users({ search: "ada" }, text.back)],
  ["users by two words", "terms_by_term", users({ search: "ada byron77" })],
  ["users by metadata that all have", "user_metadata_by_value", users({ metadata: gold })],
  [
    "users by metadata that all have, newest first",
    "user_metadata_by_value",
    users({ metadata: gold }, NameOrder.NEWEST),
  ],
  ["users by metadata that one has", "user_metadata_by_value", users({ metadata: { key: "desk", value: "u77" } })],
  ["users by metadata and a word", "user_metadata_by_value", users({ metadata: gold, search: "ada" })],
  ["users by metadata and an e-mail", "users_folded_email", users({ metadata: gold, email: "MAIL77@example.com" })],
  ["organizations by metadata", "organization_metadata_by_value", organizations({ metadata: gold })],
  ["organizations", "organizations_name", organizations({})],
  ["organizations, oldest first", "organizations_pkey", organizations({}, NameOrder.OLDEST)],
  ["organizations by name", "organizations_folded_name", organizations({ name: "ORGANIZATION 77 number" })],
  ["organizations by the beginning of the name", "organizations_folded_name", organizations({ namePrefix: "o" })],
  ["organizations by a word", "terms_by_term", organizations({ search: "numb" })],
  ["organizations that are inactive", "organizations_inactive", organizations({ state: OrganizationState.INACTIVE })],
  ["organizations that are active", "organizations_name", organizations({ state: OrganizationState.ACTIVE })],
  ["projects", "projects_name", projects({})],
  ["projects that are inactive", "projects_inactive", projects({ state: ProjectState.INACTIVE }, text.back)],
  ["projects that are active", "projects_name", projects({ state: ProjectState.ACTIVE })],
  ["projects, newest first", "projects_pkey", projects({}, NameOrder.NEWEST)],
  ["projects by name", "projects_folded_name", projects({ name: "PROJECT 77 thing" })],
  ["projects by the beginning of the name", "projects_folded_name", projects({ namePrefix: "p" }, text.back)],
  ["projects by a word", "terms_by_term", projects({ search: "thin" })],
  ["roles", "project_roles_pkey", roles({})],
  ["roles by key", "project_roles_folded_key", roles({ key: "ROLE77" })],
  ["roles by the beginning of the key", "project_roles_folded_key", roles({ keyPrefix: "r" }, true)],
  ["roles by a word", "terms_by_term", roles({ search: "sho" })],
  ["applications", "applications_name", applications({})],
  ["applications, newest first", "applications_by_age", applications({}, NameOrder.NEWEST)],
  ["applications by name", "applications_folded_name", applications({ name: "APPLICATION 77 client" })],
  ["applications by the beginning of the name", "applications_folded_name", applications({ namePrefix: "a" })],
  ["applications by a word", "terms_by_term", applications({ search: "cli" })],
  ["applications of an organization", "applications_of_organization", applicationsOfAll({})],
  [
    "applications of an organization, newest first",
    "applications_of_organization_by_age",
    applicationsOfAll({}, NameOrder.NEWEST),
  ],
  [
    "applications of an organization by the beginning of the name",
    "applications_of_organization_by_name",
    applicationsOfAll({ namePrefix: "a" }, text.back),
  ],
  [
    "applications of an organization that do not comply",
    "applications_of_organization_not_compliant",
    applicationsOfAll({ compliance: ApplicationCompliance.NOT_COMPLIANT }),
  ],
  [
    "applications that do not comply",
    "applications_not_compliant",
    applications({ compliance: ApplicationCompliance.NOT_COMPLIANT }, text.back),
  ],
  ["applications of an organization by a word", "terms_by_term", applicationsOfAll({ search: "cli" })],
  [
    "applications of an organization that are inactive",
    "applications_of_organization_inactive",
    applicationsOfAll({ state: ApplicationState.INACTIVE }),
  ],
  ["applications that are inactive", "applications_inactive", applications({ state: ApplicationState.INACTIVE })],
  ["applications that are active", "applications_name", applications({ state: ApplicationState.ACTIVE }, text.back)],
  [
    "active applications by the beginning of the name",
    "applications_folded_name",
    applications({ namePrefix: "a", state: ApplicationState.ACTIVE }),
  ],
  ["project grants", "project_grants_by_age", projectGrants({})],
  ["project grants of an organization", "project_grants_", projectGrants({ grantedOrganizationId: "o77" })],
  ["project grants with a role", "project_grant_roles_by_age", projectGrants({ roleKey: "role77" })],
  [
    "project grants with a role, oldest first",
    "project_grant_roles_by_age",
    projectGrants({ roleKey: "role7" }, AgeOrder.OLDEST),
  ],
  ["members", "members_of_scope", members({})],
  ["members that are a user", "members_", members({ userId: "u77" })],
  ["members with a role", "terms_by_term", members({ role: "ORG_OWNER" })],
  ["members with a role, oldest first", "terms_by_term", members({ role: "ORG_VIEWER" }, AgeOrder.OLDEST)],
  ["grants", "user_grants_pkey", grants({})],
  ["grants, oldest first", "user_grants_pkey", grants({ order: AgeOrder.OLDEST })],
  ["grants of a user", "user_grants_of_user", grants({ userId: "u7" })],
  ["grants of a user, oldest first", "user_grants_of_user", grants({ userId: "u7", order: AgeOrder.OLDEST })],
  ["grants of a user within reach", "user_grants_of_user", grants({ userId: "u77" }, someReach)],
  ["grants of a user in a project", "user_grants_once", grants({ userId: "u7", projectId: "p1" })],
  [
    "grants of a user in a project with a role",
    "user_grants_once",
    grants({ userId: "u7", projectId: "p1", roleKey: "role8" }),
  ],
  ["grants in a project", "user_grants_of_project", grants({ projectId: "p1" })],
  ["grants in a project within reach", "user_grants_of_project", grants({ projectId: "p2" }, someReach)],
  ["grants with a role", "user_grant_roles_by_age", grants({ projectId: "p1", roleKey: "role77" })],
  ["grants within reach", "user_grants_of_project", grants({}, someReach)],
  ["grants within reach, of a project grant", "user_grants_of_project_grant_by_age", guest(grants({}, someReach))],
  ["inactive grants", "user_grants_inactive", grants({ state: inactive })],
  ["inactive grants, oldest first", "user_grants_inactive", grants({ state: inactive, order: AgeOrder.OLDEST })],
  ["inactive grants of a user", "user_grants_inactive_of_user", grants({ userId: "u7", state: inactive })],
  [
    "inactive grants of a user in a project",
    "user_grants_once",
    grants({ userId: "u996", projectId: "p1", state: inactive }),
  ],
  ["inactive grants in a project", "user_grants_inactive_of_project", grants({ projectId: "p1", state: inactive })],
  [
    "inactive grants with a role",
    "user_grants_inactive_of_project",
    grants({ projectId: "p1", roleKey: "role197", state: inactive }),
  ],
  ["inactive grants within reach", "user_grants_inactive_of_project", grants({ state: inactive }, someReach)],
  [
    "inactive grants within reach, of a project grant",
    "user_grants_inactive_of_project_grant",
    guest(grants({ state: inactive }, someReach)),
  ],
  ["grants that end", "user_grants_ending", grants({ expiresBefore: soon })],
  ["grants that end, oldest first", "user_grants_ending", grants({ expiresBefore: soon, order: AgeOrder.OLDEST })],
  ["active grants that end", "user_grants_ending", grants({ expiresBefore: soon, state: active })],
  ["inactive grants that end", "user_grants_ending", grants({ expiresBefore: soon, state: inactive })],
  ["grants of a user that end", "user_grants_ending_of_user", grants({ userId: "u7", expiresBefore: soon })],
  [
    "grants of a user in a project that end",
    "user_grants_once",
    grants({ userId: "u995", projectId: "p1", expiresBefore: soon }),
  ],
  ["grants in a project that end", "user_grants_ending_of_project", grants({ projectId: "p1", expiresBefore: soon })],
  [
    "grants with a role that end",
    "user_grants_ending_of_project",
    grants({ projectId: "p1", roleKey: "role196", expiresBefore: soon }),
  ],
  ["grants within reach that end", "user_grants_ending_of_project", grants({ expiresBefore: soon }, someReach)],
  ["active grants", "user_grants_pkey", grants({ state: active })],
  ["active grants of a user", "user_grants_of_user", grants({ userId: "u7", state: active, order: AgeOrder.OLDEST })],
  ["active grants in a project", "user_grants_of_project", grants({ projectId: "p1", state: active })],
  [
    "active grants with a role",
    "user_grant_roles_by_age",
    grants({ projectId: "p1", roleKey: "role77", state: active }),
  ],
  ["active grants within reach", "user_grants_of_project", grants({ state: active }, someReach)],
  [
    "active grants within reach, of a project grant",
    "user_grants_of_project_grant_by_age",
    guest(grants({ state: active }, someReach)),
  ],
];

let cluster: Cluster;
let postern: Postern;
let sql: ReturnType<typeof openClient>;
beforeAll(async () => {
  // Transactions that take long hold up tests of the log in the other databases of a server.
  cluster = await startCluster();
  postern = await startPostern({ databaseUrl: await newDatabase(cluster, "lists") });
  sql = openClient(postern.databaseUrl);
  await sql.client.unsafe(filling);
  await planAsTheService(sql.client);
}, 600_000);
afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

// The same rows, first as a server finds them that has just been filled.
describe.each(["not analyzed", "analyzed"])("ten thousand rows, %s", (state) => {
  beforeAll(async () => {
    if (state === "analyzed") await sql.client.unsafe("vacuum analyze");
  });

  test.each(cases)("%s: read by %s in their order, whatever there is beside it", async (_name, index, list) => {
    const call = () => callIn("o1", postern.adminId);
    const statements = await askedBy(postern.databaseUrl, async (parts) => {
      const { nextPageToken } = await list(parts, "", call());
      if (nextPageToken) await list(parts, nextPageToken, call());
    });
    const indexes: string[] = [];
    for (const statement of statements) {
      const reads = await found(sql.client, statement);
      expect(reads.whole, statement.text).toEqual([]);
      expect(reads.rows, statement.text).toBeLessThanOrEqual(10 * pageSize);
      indexes.push(...reads.indexes);
    }
    expect(
      indexes.some((one) => one.startsWith(index)),
      `${indexes.join()} ${statements.at(-1)?.text}`,
    ).toBe(true);
  });
});
