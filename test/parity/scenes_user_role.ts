import { endedElsewhere, grantedElsewhere } from "../fixture/roles_elsewhere.ts";
import { type Client, machine, organization } from "../harness.ts";
import { made, person, type Scene, type Stage } from "./stage.ts";

const list = "UserRoleService.ListUserRoles";
const end = "UserRoleService.EndUserRoles";
const listEnded = "UserRoleService.ListEndedUserRoles";
const allow = "UserRoleService.AllowUserRoles";

/** An ORG_OWNER of the fixture's organization. */
async function owner({ postern, admin, fixture: { organizationId } }: Stage): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  await made(admin, `/v1/organizations/${organizationId}/members`, { userId, roles: ["ORG_OWNER"] });
  return client;
}

/** Somebody of the fixture's organization whom another organization made the evaluator of a project. */
async function evaluator(stage: Stage) {
  const { postern, admin } = stage;
  const somebody = await person(stage);
  const there = { "x-service-orgid": await organization(postern) };
  const { projectId } = (await admin.post("/v1/projects", { name: "Shop" }, there)).body;
  const added = await admin.post(
    `/v1/projects/${projectId}/members`,
    { userId: somebody.userId, roles: ["PROJECT_EVALUATOR"] },
    there,
  );
  if (added.status !== 200) throw new Error(JSON.stringify(added.body));
  return { ...somebody, organizationId: there["x-service-orgid"] };
}

const stops = {
  "UserService.DeactivateUser": async (userId) => ({ userId }),
  "UserService.ReactivateUser": async (userId) => ({ userId }),
  "UserService.UnlockUser": async (userId) => ({ userId }),
  "UserService.DeleteUser": async (userId) => ({ userId }),
  "UserService.UpdateHumanUser": async (userId) => ({ userId, human: { givenName: "Augusta" } }),
  "UserService.RevokeAccessToken": async (userId, { admin }) => ({
    userId,
    tokenId: (await admin.post(`/v1/users/${userId}/tokens`)).body.tokenId,
  }),
  "SessionService.DeleteUserSessions": async (userId) => ({ userId }),
} satisfies Readonly<Record<string, (userId: string, stage: Stage) => Promise<object>>>;

const stopScenes = Object.entries(stops).map(
  ([rpc, request]): Scene => ({
    ...{ rpc, name: "of one's own user, whatever another organization gave it", says: "OK" },
    async given(stage) {
      const { userId } = await evaluator(stage);
      return { request: (await request(userId, stage)) as never, by: await owner(stage) };
    },
  }),
);

const actScenes: readonly Scene[] = [
  {
    rpc: "UserService.SetPassword",
    ...{ name: "of one's own user that another organization gave more", says: "PERMISSION_DENIED" },
    async given(stage) {
      const { userId } = await evaluator(stage);
      return { request: { userId, newPassword: "Green-Teapot-77" }, by: await owner(stage) };
    },
  },
  {
    rpc: "UserService.SetPassword",
    ...{ name: "of one's own user once the roles of another organization have ended", says: "OK" },
    async given(stage) {
      const { userId, organizationId } = await evaluator(stage);
      const by = await owner(stage);
      await made(by, `/v1/users/${userId}/roles:end`, { organizationId });
      return { request: { userId, newPassword: "Green-Teapot-77" }, by };
    },
  },
];

/** Reads the roles of a user, and those that are ended. */
const seeRoles = (client: Client, userId: string) => async () => {
  const { userRoles } = (await client.get(`/v1/users/${userId}/roles`)).body;
  const { endedRoles } = (await client.get(`/v1/users/${userId}/ended-roles`)).body;
  return [
    userRoles.length,
    endedRoles.map((one: { kind: string; byAdministrator: boolean }) => [one.kind, one.byAdministrator]),
  ];
};

const endScenes: readonly Scene[] = [
  {
    ...{ rpc: end, name: "of one's own", says: "OK" },
    async given(stage) {
      const { userId, client } = await person(stage);
      const organizationId = await grantedElsewhere(stage.postern, userId);
      return { request: { userId: "me", organizationId }, by: client, see: seeRoles(client, userId) };
    },
  },
  {
    ...{ rpc: end, name: "of a user, of one kind", says: "OK" },
    async given(stage) {
      const { userId, organizationId } = await evaluator(stage);
      const request = { userId, organizationId, kind: "ROLE_KIND_MEMBERSHIP" };
      return { request, by: await owner(stage), see: seeRoles(stage.admin, userId) };
    },
  },
  {
    ...{ rpc: end, name: "that nobody gave", says: "ORGANIZATION_NOT_FOUND" },
    given: async ({ postern, fixture: { userId } }) => ({
      request: { userId, organizationId: await organization(postern) },
    }),
  },
  {
    ...{ rpc: end, name: "of the own organization", says: "OWN_ORGANIZATION", fields: ["organizationId"] },
    given: ({ fixture: { userId, organizationId } }) => ({ request: { userId, organizationId } }),
  },
  {
    ...{ rpc: end, name: "by the last owner of the other organization", says: "LAST_OWNER" },
    async given(stage) {
      const { userId, client } = await person(stage);
      const organizationId = await organization(stage.postern);
      await made(stage.admin, `/v1/organizations/${organizationId}/members`, { userId, roles: ["ORG_OWNER"] });
      return { request: { userId, organizationId }, by: client };
    },
  },
  {
    ...{ rpc: end, name: "by one who may only read", says: "PERMISSION_DENIED" },
    async given(stage) {
      const { userId } = await person(stage);
      const organizationId = await grantedElsewhere(stage.postern, userId);
      return { request: { userId, organizationId }, by: stage.viewer };
    },
  },
  {
    ...{ rpc: end, name: "of a kind that is none", says: "VALIDATION_FAILED", fields: ["kind"] },
    given: ({ fixture: { userId } }) => ({ request: { userId, organizationId: "none", kind: 7 } }),
  },
];

const allowScenes: readonly Scene[] = [
  {
    ...{ rpc: allow, name: "that an administrator ended", says: "OK" },
    async given(stage) {
      const { userId } = await person(stage);
      const organizationId = await endedElsewhere(stage.postern, userId);
      return { request: { userId, organizationId }, see: seeRoles(stage.admin, userId) };
    },
  },
  {
    ...{ rpc: allow, name: "that an administrator ended, by the user", says: "PERMISSION_DENIED" },
    async given(stage) {
      const { userId, client } = await person(stage);
      return { request: { userId, organizationId: await endedElsewhere(stage.postern, userId) }, by: client };
    },
  },
  {
    ...{ rpc: allow, name: "of the own organization", says: "OWN_ORGANIZATION", fields: ["organizationId"] },
    given: ({ fixture: { userId, organizationId } }) => ({ request: { userId, organizationId } }),
  },
  {
    ...{ rpc: "MemberService.AddMember", name: "of somebody who ended it", says: "ENDED_BY_RECEIVER" },
    async given(stage) {
      const { userId } = await person(stage);
      const there = await endedElsewhere(stage.postern, userId);
      return { request: { userId, roles: ["ORG_VIEWER"] }, headers: { "x-service-orgid": there } };
    },
  },
  {
    ...{ rpc: "UserGrantService.AddUserGrant", name: "of somebody who ended it", says: "ENDED_BY_RECEIVER" },
    async given(stage) {
      const { userId } = await person(stage);
      const headers = { "x-service-orgid": await endedElsewhere(stage.postern, userId) };
      const { projectId } = (await stage.admin.post("/v1/projects", { name: "Again" }, headers)).body;
      return { request: { userId, projectId, roleKeys: [] }, headers };
    },
  },
];

const listScenes: readonly Scene[] = [list, listEnded].flatMap((rpc): Scene[] => [
  {
    ...{ rpc, name: "of oneself", says: "OK" },
    async given(stage) {
      const { userId, client } = await person(stage);
      await endedElsewhere(stage.postern, userId);
      await grantedElsewhere(stage.postern, userId);
      return { request: { userId: "me" }, by: client };
    },
  },
  {
    ...{ rpc, name: "of a user, by one who may read it", says: "OK" },
    async given(stage) {
      const { userId } = await person(stage);
      await grantedElsewhere(stage.postern, userId);
      return { request: { userId }, by: stage.viewer };
    },
  },
  { ...{ rpc, name: "of nobody", says: "USER_NOT_FOUND" }, given: () => ({ request: { userId: "none" } }) },
  {
    ...{ rpc, name: "too many at once", says: "VALIDATION_FAILED", fields: ["pageSize"] },
    given: ({ fixture: { userId } }) => ({ request: { userId, pageSize: 1001 } }),
  },
  {
    ...{ rpc, name: "with a token of no list", says: "PAGE_TOKEN_INVALID", fields: ["pageToken"] },
    given: ({ fixture: { userId } }) => ({ request: { userId, pageToken: "none" } }),
  },
]);

/** Every way in which a call about the roles that organizations gave a user can end. */
export const userRoleScenes: readonly Scene[] = [
  ...[...stopScenes, ...actScenes, ...endScenes],
  ...[...allowScenes, ...listScenes],
];
