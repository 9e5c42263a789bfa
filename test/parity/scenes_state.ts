import type { JsonObject } from "@bufbuild/protobuf";
import { machine, organization, signedUp } from "../harness.ts";
import { fresh, made, type Scene, type Stage, within } from "./stage.ts";

const shut = (stage: Stage, path: string, headers = {}) => made(stage.admin, `${path}:deactivate`, {}, headers);

/** A deactivated organization with a user who was signed in. */
async function shutOrganization(stage: Stage) {
  const organizationId = await organization(stage.postern);
  const user = await signedUp(stage.postern, { organizationId });
  await shut(stage, `/v1/organizations/${organizationId}`);
  return { organizationId, ...user };
}

/** A deactivated project with a role and a user grant. */
async function shutProject(stage: Stage) {
  const { admin, fixture, postern } = stage;
  const headers = within(fixture.organizationId);
  const { projectId } = await made(admin, "/v1/projects", { name: fresh("project") }, headers);
  await made(admin, `/v1/projects/${projectId}/roles`, { key: "viewer" }, headers);
  const { userId, client } = await machine(postern, fixture);
  await made(admin, `/v1/users/${userId}/grants`, { projectId, roleKeys: ["viewer"] }, headers);
  await shut(stage, `/v1/projects/${projectId}`, headers);
  return { projectId, client };
}

async function wanted({ fixture }: Stage, projectId: string): Promise<JsonObject> {
  return { userId: await fixture.newUser(), projectId, roleKeys: [] };
}

const deletion = "OrganizationService.DeleteOrganization";
const creation = "OrganizationService.CreateOrganization";

/** Calls about and around things that are deactivated, and organizations with their first owner. */
export const stateScenes: readonly Scene[] = [
  {
    ...{ rpc: deletion, name: "of the last owner", says: "LAST_OWNER" },
    given: ({ postern: { organizationId } }) => ({ request: { organizationId } }),
  },
  {
    ...{ rpc: deletion, name: "twice", says: "ORGANIZATION_NOT_FOUND" },
    async given({ admin, postern }) {
      const organizationId = await organization(postern);
      await admin.delete(`/v1/organizations/${organizationId}`);
      return { request: { organizationId } };
    },
  },
  {
    ...{ rpc: "UserService.GetUser", name: "of a deleted organization", says: "USER_NOT_FOUND" },
    async given({ admin, postern }) {
      const organizationId = await organization(postern);
      const { userId } = await machine(postern, { organizationId });
      await admin.delete(`/v1/organizations/${organizationId}`);
      return { request: { userId } };
    },
  },
  {
    ...{ rpc: creation, name: "with its first owner", says: "OK" },
    given: async ({ fixture }) => ({ request: { name: fresh("org"), ownerUserId: await fixture.newUser() } }),
  },
  {
    ...{ rpc: creation, name: "with the caller as its first owner", says: "OK" },
    given: () => ({ request: { name: fresh("org"), ownerUserId: "me" } }),
  },
  {
    ...{ rpc: creation, name: "with an owner who does not exist", says: "USER_NOT_FOUND" },
    given: () => ({ request: { name: fresh("org"), ownerUserId: "nobody" } }),
  },
  {
    ...{ rpc: "OrganizationService.DeactivateOrganization", name: "of the last owner", says: "LAST_OWNER" },
    given: ({ postern: { organizationId } }) => ({ request: { organizationId } }),
  },
  {
    ...{ rpc: "OrganizationService.DeactivateOrganization", name: "twice", says: "OK" },
    given: async (stage) => ({ request: { organizationId: (await shutOrganization(stage)).organizationId } }),
  },
  {
    ...{ rpc: "OrganizationService.ReactivateOrganization", name: "that is none", says: "ORGANIZATION_NOT_FOUND" },
    given: () => ({ request: { organizationId: "none" } }),
  },
  {
    ...{ rpc: "OrganizationService.GetOrganization", name: "that is deactivated", says: "OK" },
    given: async (stage) => ({
      request: { organizationId: (await shutOrganization(stage)).organizationId },
      headers: {},
    }),
  },
  {
    ...{ rpc: "SessionService.CreateSession", name: "in a deactivated organization", says: "SIGN_IN_FAILED" },
    async given(stage) {
      const { username, password } = await shutOrganization(stage);
      return { request: { loginName: username, password }, by: stage.postern.as() };
    },
  },
  {
    ...{ rpc: "AccountService.GetMe", name: "of a deactivated organization", says: "TOKEN_INVALID" },
    given: async (stage) => ({ request: {}, by: (await shutOrganization(stage)).client, headers: {} }),
  },
  {
    ...{ rpc: "AccountService.GetMe", name: "without the roles of a deactivated project", says: "OK" },
    given: async (stage) => ({ request: {}, by: (await shutProject(stage)).client, headers: {} }),
  },
  {
    ...{ rpc: "UserGrantService.AddUserGrant", name: "in a deactivated project", says: "PROJECT_INACTIVE" },
    fields: ["projectId"],
    given: async (stage) => ({ request: await wanted(stage, (await shutProject(stage)).projectId) }),
  },
  {
    ...{ rpc: "UserGrantService.AddUserGrant", name: "in a deactivated organization", says: "ORGANIZATION_INACTIVE" },
    fields: ["projectId"],
    async given(stage) {
      const headers = within(await organization(stage.postern));
      const { projectId } = await made(stage.admin, "/v1/projects", { name: fresh("project") }, headers);
      await shut(stage, `/v1/organizations/${headers["x-service-orgid"]}`);
      return { request: await wanted(stage, projectId), headers };
    },
  },
  {
    ...{ rpc: "UserGrantService.ListUserGrants", name: "in a deactivated project", says: "OK" },
    given: async (stage) => ({ request: { projectId: (await shutProject(stage)).projectId } }),
  },
  {
    ...{ rpc: "ProjectService.GrantProject", name: "to a deactivated organization", says: "ORGANIZATION_INACTIVE" },
    fields: ["grantedOrganizationId"],
    async given(stage) {
      const { organizationId } = await shutOrganization(stage);
      return { request: { projectId: stage.fixture.projectId, grantedOrganizationId: organizationId } };
    },
  },
  {
    ...{ rpc: "ProjectService.GrantProject", name: "that is deactivated", says: "PROJECT_INACTIVE" },
    fields: ["projectId"],
    given: async (stage) => ({
      request: {
        projectId: (await shutProject(stage)).projectId,
        grantedOrganizationId: await organization(stage.postern),
      },
    }),
  },
  {
    ...{ rpc: "ProjectService.DeactivateProject", name: "of another organization", says: "PROJECT_NOT_FOUND" },
    given: ({ granted: { projectId } }) => ({ request: { projectId } }),
  },
  {
    ...{ rpc: "ProjectService.ReactivateProject", name: "that is deactivated", says: "OK" },
    given: async (stage) => ({ request: { projectId: (await shutProject(stage)).projectId } }),
  },
];
