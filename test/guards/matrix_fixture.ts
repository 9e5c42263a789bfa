import { randomBytes } from "node:crypto";
import { type Client, machine, organization, type Postern, signedUp } from "../harness.ts";

/** What the rows of the matrix ask for, in one organization. */
export type Fixture = {
  readonly organizationId: string;
  readonly userId: string;
  readonly projectId: string;
  /** Set when the project is another organization's and was granted to this one. */
  readonly grant: { readonly projectGrantId?: string };
  /** The role that the fixture's project, or its grant, is administered with. */
  readonly projectRole: "PROJECT_OWNER" | "PROJECT_GRANT_OWNER";
  /** Who is an owner of each project that is made. */
  readonly projectOwners: string[];
  readonly newProject: () => Promise<string>;
  readonly newUser: () => Promise<string>;
  readonly newSession: () => Promise<string>;
  readonly newPhone: () => Promise<{ userId: string; code: string }>;
  readonly newToken: () => Promise<{ userId: string; tokenId: string }>;
  readonly newRole: () => Promise<string>;
  readonly newOrganization: () => Promise<string>;
  readonly newProjectGrant: () => Promise<string>;
  readonly newApp: () => Promise<string>;
  readonly newUserGrant: () => Promise<string>;
  readonly newMember: () => Promise<string>;
};

/** Makes an organization with a user and a project with a role; the administrator makes the rest when it is asked for. */
export async function fixtureOf(postern: Postern, organizationId: string): Promise<Fixture> {
  const headers = { "x-service-orgid": organizationId };
  const made = (path: string, body: unknown) => required(postern.admin, path, body, headers);
  const name = (what: string) => `${what} ${randomBytes(6).toString("hex")}`;
  const newUser = async (): Promise<string> => {
    const person = { givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
    return (await made("/v1/users/human", { username: name("user").replace(" ", "-"), ...person })).userId;
  };
  const projectOwners: string[] = [];
  const newProject = async (): Promise<string> => {
    const { projectId } = await made("/v1/projects", { name: name("project") });
    for (const userId of projectOwners)
      await made(`/v1/projects/${projectId}/members`, { userId, roles: ["PROJECT_OWNER"] });
    return projectId;
  };
  const projectId = await newProject();
  await made(`/v1/projects/${projectId}/roles`, { key: "viewer" });
  const userId = await newUser();
  return {
    ...{
      organizationId,
      userId,
      projectId,
      projectOwners,
      newProject,
      newUser,
      grant: {},
      projectRole: "PROJECT_OWNER",
    },
    newOrganization: () => organization(postern),
    async newSession() {
      const { userId: owner } = await signedUp(postern, { organizationId });
      return (await postern.admin.get(`/v1/sessions?userId=${owner}`)).body.sessions[0].id;
    },
    async newPhone() {
      const owner = await newUser();
      const { verificationCode } = await made(`/v1/users/${owner}/phone`, { phone: "+41446681800", returnCode: {} });
      return { userId: owner, code: verificationCode };
    },
    async newToken() {
      const { userId: owner, tokenId } = await machine(postern, { organizationId });
      return { userId: owner, tokenId };
    },
    async newRole() {
      const key = name("role");
      await made(`/v1/projects/${projectId}/roles`, { key });
      return key;
    },
    async newProjectGrant() {
      const grantedOrganizationId = await organization(postern);
      return (await made(`/v1/projects/${projectId}/grants`, { grantedOrganizationId, roleKeys: ["viewer"] }))
        .projectGrantId;
    },
    newApp: async () => (await made(`/v1/projects/${projectId}/applications/oidc`, { name: name("app") })).appId,
    newUserGrant: async () =>
      (await made(`/v1/users/${await newUser()}/grants`, { projectId, roleKeys: ["viewer"] })).userGrantId,
    async newMember() {
      const owner = await newUser();
      await made(`/v1/projects/${projectId}/members`, { userId: owner, roles: ["PROJECT_OWNER"] });
      return owner;
    },
  };
}

/** The same for an organization that was granted the project of another: what only the owner may make, the owner makes. */
export async function lentFixtureOf(postern: Postern, lender: Fixture, organizationId: string): Promise<Fixture> {
  const { projectId } = lender;
  const made = (path: string, body: unknown, where: string) =>
    required(postern.admin, path, body, { "x-service-orgid": where });
  const lent = { grantedOrganizationId: organizationId, roleKeys: ["viewer"] };
  const grant = {
    projectGrantId: (await made(`/v1/projects/${projectId}/grants`, lent, lender.organizationId)).projectGrantId,
  };
  const own = await fixtureOf(postern, organizationId);
  return {
    ...lender,
    ...{ organizationId, grant, projectRole: "PROJECT_GRANT_OWNER" },
    ...{
      userId: own.userId,
      newUser: own.newUser,
      newSession: own.newSession,
      newPhone: own.newPhone,
      newToken: own.newToken,
    },
    async newUserGrant() {
      const wanted = { projectId, ...grant, roleKeys: ["viewer"] };
      return (await made(`/v1/users/${await own.newUser()}/grants`, wanted, organizationId)).userGrantId;
    },
    async newMember() {
      const userId = await own.newUser();
      await made("/v1/members", { userId, roles: ["PROJECT_GRANT_OWNER"], projectId, ...grant }, organizationId);
      return userId;
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the wire brought, whatever that is.
async function required(client: Client, path: string, body: unknown, headers: Record<string, string>): Promise<any> {
  const answer = await client.post(path, body, headers);
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
