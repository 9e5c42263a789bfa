import type { Reason } from "../../src/reasons.ts";
import { openClient } from "../fixture/database_client.ts";
import { newJwk } from "../fixture/jwk.ts";
import { withTokens } from "../fixture/many_tokens.ts";
import { giverTo, newEraser } from "../fixture/organization.ts";
import { endedElsewhere } from "../fixture/roles_elsewhere.ts";
import { type Answer, machine, organization, signedUp } from "../harness.ts";
import { codeOfRegistration, newcomer, registering } from "../services/registrations/registering.ts";
import { accept, invited, retryDead, withUri } from "./given.ts";
import { fresh, type Row, type Scene } from "./provocation.ts";

const missing = (path: string): Row => ({
  by: ({ german, fixture }) =>
    german.delete(path.replace("{user}", fixture.userId).replace("{project}", fixture.projectId)),
  details: ["ResourceInfo"],
});

/** The same creation twice. */
const taken = (path: string, body: (scene: Scene) => object | Promise<object>): Row => ({
  async by(scene) {
    const asked = await body(scene);
    const at = path.replace("{project}", scene.fixture.projectId).replace("{user}", scene.fixture.userId);
    await scene.admin.post(at, asked);
    return scene.german.post(at, asked);
  },
  details: ["ResourceInfo"],
});

/** The same, where the name is what is taken: its field is named. */
const nameTaken: typeof taken = (path, body) => ({ ...taken(path, body), details: ["BadRequest", "ResourceInfo"] });

const keysPath = async ({ fixture }: Scene) =>
  `/v1/projects/${fixture.projectId}/applications/${await fixture.newApp()}/keys`;

const app = ({ fixture }: Scene) => `/v1/projects/${fixture.projectId}/applications/oidc`;

/** A domain whose name servers fail. */
export const failingDomain = "failing.example";

async function verifiedDomain({ admin, german }: Scene, name: string) {
  const { domainId } = (await admin.post("/v1/domains", { name })).body;
  return german.post(`/v1/domains/${domainId}:verify`);
}

/** The refusals for objects that are missing, exist already, or are in the wrong state. */
export const nounRows = {
  ORGANIZATION_NOT_FOUND: { by: ({ german }) => german.get("/v1/organizations/none"), details: ["ResourceInfo"] },
  USER_NOT_FOUND: missing("/v1/users/none"),
  SESSION_NOT_FOUND: missing("/v1/sessions/none"),
  TOKEN_NOT_FOUND: missing("/v1/users/{user}/tokens/none"),
  PROJECT_NOT_FOUND: missing("/v1/projects/none"),
  ROLE_NOT_FOUND: missing("/v1/projects/{project}/roles/none"),
  PROJECT_GRANT_NOT_FOUND: missing("/v1/projects/{project}/grants/none"),
  JOB_NOT_FOUND: { by: ({ german }) => german.get("/v1/jobs/none"), details: ["ResourceInfo"] },
  DELIVERY_NOT_FOUND: { by: ({ german }) => german.post("/v1/deliveries/none:retry", {}), details: ["ResourceInfo"] },
  DELIVERY_EXPIRED: { by: (scene) => retryDead(scene, "expiration_date = now()") },
  DELIVERY_NOT_WANTED: { by: (scene) => retryDead(scene, "user_id = 'gone'") },
  SUBSCRIPTION_NOT_FOUND: { by: ({ german }) => german.get("/v1/subscriptions/none"), details: ["ResourceInfo"] },
  SUBSCRIPTION_LIMIT: {
    async by({ admin, german }) {
      const wanted = { url: "https://receiver.example", types: ["organization.purged"] };
      for (let n = 0; n < 100; n += 1) await admin.post("/v1/subscriptions", wanted);
      return german.post("/v1/subscriptions", wanted);
    },
  },
  DOMAIN_NOT_FOUND: { by: ({ german }) => german.get("/v1/domains/none"), details: ["ResourceInfo"] },
  DOMAIN_EXISTS: nameTaken("/v1/domains", () => ({ name: `${fresh("domain")}.example` })),
  DOMAIN_TAKEN: {
    async by({ postern, admin, german }) {
      const wanted = { name: `${fresh("domain")}.example`, withoutDns: true };
      await admin.post("/v1/domains", wanted, { "x-service-orgid": await organization(postern) });
      return german.post("/v1/domains", wanted);
    },
  },
  DOMAIN_LIMIT: {
    async by({ postern, admin, german }) {
      const inside = { "x-service-orgid": await organization(postern) };
      for (let n = 0; n < 100; n += 1) await admin.post("/v1/domains", { name: `d${n}.example` }, inside);
      return german.post("/v1/domains", { name: "one-more.example" }, inside);
    },
  },
  METADATA_LIMIT: {
    async by({ german, fixture }) {
      const path = `/v1/users/${fixture.userId}/metadata`;
      const entries = Array.from({ length: 50 }, (_, n) => ({ key: `key${n}`, value: "x".repeat(327) }));
      return german.call("PATCH", path, { entries });
    },
  },
  DOMAIN_INVALID: { by: ({ german }) => german.post("/v1/domains", { name: "no domain" }), details: ["BadRequest"] },
  RESOURCE_URI_INVALID: { by: (scene) => withUri(scene, "http://api.example/"), details: ["BadRequest"] },
  RESOURCE_URI_ISSUER: {
    by: (scene) => withUri(scene, `http://localhost:${new URL(scene.postern.url).port}/`),
    details: ["BadRequest"],
  },
  RESOURCE_URI_TAKEN: {
    async by(scene) {
      const uri = `https://${fresh("api")}.example/`;
      await withUri(scene, uri);
      return withUri(scene, uri);
    },
    details: ["BadRequest"],
  },
  RESOURCE_URI_HOST: {
    async by({ postern, admin, germanAs, fixture }) {
      const { userId, client } = await machine(postern);
      await admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] });
      return withUri({ german: germanAs(client.token), fixture }, "https://nobody.example/");
    },
    details: ["BadRequest"],
  },
  DOMAIN_RECORD_MISSING: { by: (scene) => verifiedDomain(scene, `${fresh("domain")}.example`) },
  DOMAIN_CHECK_FAILED: { by: (scene) => verifiedDomain(scene, failingDomain) },
  INVITATION_NOT_FOUND: { by: ({ german }) => german.get("/v1/invitations/none"), details: ["ResourceInfo"] },
  INVITATION_EXISTS: nameTaken("/v1/invitations", () => ({
    items: [{ email: `${fresh("invited")}@example.com` }],
    allOrNothing: true,
  })),
  INVITATION_LIMIT: {
    async by({ postern, german }) {
      const inside = { "x-service-orgid": await organization(postern) };
      await using database = openClient(postern.databaseUrl);
      await database.client`
        insert into invitations (owner, invitation_id, inviter_id, memberships, grants, expiration_date, version, created, changed)
        select ${inside["x-service-orgid"]}, 'limit ' || n, '', '[]', '[]', now(), 1, now(), now() from generate_series(1, 1000) n`;
      const items = [{ email: "one-more@example.com" }];
      return german.post("/v1/invitations", { items, allOrNothing: true }, inside);
    },
    details: ["BadRequest"],
  },
  INVITATION_FOR_OTHER_ADDRESS: {
    by: async (scene) => accept(scene, await invited(scene, `${fresh("invited")}@example.com`)),
  },
  INVITATION_ADDRESS_UNCONFIRMED: {
    async by(scene) {
      const [person, email] = [await signedUp(scene.postern), `${fresh("invited")}@example.com`];
      const code = await invited(scene, email);
      await person.client.post(`/v1/users/${person.userId}/email`, { email });
      return accept(scene, code, person);
    },
  },
  INVITATION_OFFERS_NOTHING: {
    async by(scene) {
      const person = await signedUp(scene.postern);
      return accept(scene, await invited(scene, `${person.username}@example.com`), person);
    },
  },
  OFFER_EXPIRED: {
    async by(scene) {
      const { projectId } = scene.fixture;
      const person = await signedUp(scene.postern);
      const grants = [{ projectId, roleKeys: ["viewer"], expirationDate: "2100-01-01T00:00:00Z" }];
      const code = await invited(scene, `${person.username}@example.com`, { grants });
      await using database = openClient(scene.postern.databaseUrl);
      await database.client`
        update invitations set grants = jsonb_set(grants, '{0,expirationDate}', '"2001-01-01T00:00:00Z"')
        where grants <> '[]'`;
      return accept(scene, code, person);
    },
  },
  INVITER_NOT_ENTITLED: {
    async by(scene) {
      const person = await signedUp(scene.postern);
      const code = await invited(scene, `${person.username}@example.com`);
      await using database = openClient(scene.postern.databaseUrl);
      await database.client`update invitations set inviter_id = 'nobody'`;
      return accept(scene, code, person);
    },
  },
  REGISTRATION_CLOSED: {
    by: async ({ postern, germanAs }) =>
      germanAs().post("/v1/registrations", { organizationId: await organization(postern), email: "a@example.com" }),
  },
  REGISTRATION_DOMAIN: {
    by: async ({ postern, germanAs }) =>
      germanAs().post("/v1/registrations", {
        organizationId: await registering(postern, "PROVEN_DOMAINS"),
        email: "a@example.com",
      }),
  },
  REGISTRATION_ADDRESS_KNOWN: {
    async by({ postern, admin, germanAs }) {
      const [organizationId, name] = [await registering(postern), fresh("known")];
      const email = `${name}@example.com`;
      const code = await codeOfRegistration(postern, { organizationId, email });
      const person = { username: name, givenName: "Ada", familyName: "Byron", email, isEmailVerified: true };
      await admin.post("/v1/users/human", person, { "x-service-orgid": organizationId });
      return germanAs().post("/v1/registrations:complete", { ...newcomer, code });
    },
  },
  APPLICATION_NOT_FOUND: missing("/v1/projects/{project}/applications/none"),
  APPLICATION_KEY_NOT_FOUND: {
    by: async (scene) => scene.german.delete(`${await keysPath(scene)}/none`),
    details: ["ResourceInfo"],
  },
  APPLICATION_KEY_EXISTS: {
    async by(scene) {
      const path = await keysPath(scene);
      await scene.admin.post(path, { publicKey: newJwk("one") });
      return scene.german.post(path, { publicKey: newJwk("one") });
    },
    details: ["ResourceInfo"],
  },
  APPLICATION_KEYS_MIXED: {
    async by(scene) {
      const path = await keysPath(scene);
      await scene.admin.post(path, { jwksUri: "https://app.example/jwks.json" });
      return scene.german.post(path, { publicKey: newJwk() });
    },
  },
  APPLICATION_KEY_LIMIT: {
    async by(scene) {
      const path = await keysPath(scene);
      for (let added = 0; added < 20; added++) await scene.admin.post(path, { publicKey: newJwk() });
      return scene.german.post(path, { publicKey: newJwk() });
    },
  },
  ACCESS_TOKEN_LIMIT: {
    async by({ postern, fixture, german }) {
      const userId = await fixture.newUser();
      await withTokens(postern.databaseUrl, userId, 1_000);
      return german.post(`/v1/users/${userId}/tokens`, {});
    },
  },
  USER_GRANT_NOT_FOUND: missing("/v1/user-grants/none"),
  MEMBER_NOT_FOUND: missing("/v1/members/{user}"),
  CONNECTION_NOT_FOUND: {
    by: ({ german, fixture: { userId } }) => german.delete(`/v1/users/${userId}/connected-applications/none`),
    details: ["ResourceInfo"],
  },
  ORGANIZATION_NAME_TAKEN: nameTaken("/v1/organizations", () => ({ name: fresh("organization") })),
  LOGIN_NAME_TAKEN: nameTaken("/v1/users/machine", () => ({ username: fresh("robot"), name: "Robot" })),
  ID_TAKEN: {
    by: ({ german, fixture: { userId } }) =>
      german.post("/v1/users/machine", { username: fresh("robot").replace(" ", "-"), name: "Robot", userId }),
    details: ["BadRequest"],
  },
  PROJECT_NAME_TAKEN: nameTaken("/v1/projects", () => ({ name: fresh("project") })),
  ROLE_TAKEN: nameTaken("/v1/projects/{project}/roles", () => ({ key: fresh("role").replace(" ", "-") })),
  OWN_LOGIN_NAMES_IN_USE: {
    async by({ admin, german }) {
      const name = fresh("organization");
      const { organizationId } = (await admin.post("/v1/organizations", { name, ownLoginNames: true })).body;
      const machine = { username: "robot", name: "Robot" };
      await admin.post("/v1/users/machine", machine, { "x-service-orgid": organizationId });
      return german.call("PATCH", `/v1/organizations/${organizationId}`, { ownLoginNames: false });
    },
  },
  SELF_ERASURE_OFF: {
    async by({ postern, germanAs }) {
      const { username: loginName, password } = await signedUp(postern);
      const { body } = await postern.as().post("/v1/sessions", { loginName, password });
      return germanAs(body.token).post("/v1/users/me:erase");
    },
  },
  EMAIL_UNDOABLE: {
    async by({ postern, germanAs }) {
      const organizationId = await organization(postern);
      const policy = { restoreDays: 3, selfErasure: true };
      await postern.admin.put("/v1/policies/privacy", { policy }, { "x-service-orgid": organizationId });
      const { userId, username: loginName, password, client } = await signedUp(postern, { organizationId });
      await postern.admin.post(`/v1/users/${userId}/email`, { email: "former@example.com", isVerified: true });
      await client.post("/v1/users/me/email", { email: "latter@example.com" });
      const { body } = await postern.as().post("/v1/sessions", { loginName, password });
      return germanAs(body.token).post("/v1/users/me:erase");
    },
  },
  ERASURE_NOT_SCHEDULED: {
    by: async ({ postern, germanAs, fixture: { userId, organizationId } }) =>
      germanAs((await newEraser(postern, organizationId)).token).post(`/v1/users/${userId}:restore`),
  },
  BEING_DELETED: {
    async by({ postern, fixture: { projectId }, admin, german }) {
      const key = fresh("role").replace(" ", "-");
      await admin.post(`/v1/projects/${projectId}/roles`, { key });
      await using database = openClient(postern.databaseUrl);
      await database.client`update all_project_roles set deleted = true where role_key = ${key}`;
      return german.post(`/v1/projects/${projectId}/roles`, { key });
    },
    details: ["BadRequest"],
  },
  PROJECT_GRANT_EXISTS: taken("/v1/projects/{project}/grants", async ({ postern }) => ({
    grantedOrganizationId: await organization(postern),
  })),
  APPLICATION_NAME_TAKEN: nameTaken("/v1/projects/{project}/applications/oidc", () => ({ name: fresh("app") })),
  MEMBER_EXISTS: taken("/v1/members", async ({ fixture }) => ({
    ...{ userId: await fixture.newUser(), roles: ["ORG_VIEWER"] },
  })),
  USER_GRANT_EXISTS: taken("/v1/users/{user}/grants", ({ fixture: { projectId } }) => ({ projectId })),
  ROLE_UNKNOWN: {
    by: ({ german, fixture: { userId, projectId } }) =>
      german.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["none"] }),
    details: ["BadRequest"],
  },
  MEMBER_ROLE_SCOPE: {
    by: ({ german, fixture: { userId } }) => german.post("/v1/members", { userId, roles: ["PROJECT_OWNER"] }),
    details: ["BadRequest"],
  },
  GRANT_TO_OWNER: {
    by: ({ german, fixture: { projectId, organizationId } }) =>
      german.post(`/v1/projects/${projectId}/grants`, { grantedOrganizationId: organizationId }),
    details: ["BadRequest"],
  },
  OWN_ORGANIZATION: {
    by: ({ german, fixture: { userId, organizationId } }) =>
      german.post(`/v1/users/${userId}/roles:end`, { organizationId }),
    details: ["BadRequest"],
  },
  ENDED_BY_RECEIVER: {
    async by({ postern, german, fixture: { newUser } }) {
      const userId = await newUser();
      const there = { "x-service-orgid": await endedElsewhere(postern, userId) };
      return german.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, there);
    },
  },
  ACCEPTANCE_REQUIRED: {
    async by({ postern, germanAs }) {
      const organizationId = await organization(postern);
      const { userId } = await machine(postern, { organizationId });
      const giver = await giverTo(postern, organizationId);
      const { invitationId } = (await giver.post("/v1/members", { userId, roles: ["ORG_VIEWER"] })).body;
      const there = { "x-service-orgid": organizationId };
      await postern.admin.post(`/v1/received-invitations/${invitationId}:accept`, {}, there);
      return germanAs(giver.token).put(`/v1/members/${userId}`, { roles: ["ORG_OWNER"] });
    },
  },
  PROJECT_GRANT_NEEDED: {
    async by({ postern, admin, german, fixture: { projectId, userId } }) {
      const grantedOrganizationId = await organization(postern);
      await admin.post(`/v1/projects/${projectId}/grants`, { grantedOrganizationId });
      return german.post(`/v1/users/${userId}/grants`, { projectId }, { "x-service-orgid": grantedOrganizationId });
    },
    details: ["BadRequest"],
  },
  USER_NOT_HUMAN: {
    by: async ({ postern, german }) =>
      german.post(`/v1/users/${(await machine(postern)).userId}/phone`, { phone: "+41446681800" }),
  },
  USER_NOT_MACHINE: {
    by: ({ german, fixture: { userId } }) => german.call("PATCH", `/v1/users/${userId}/machine`, { name: "Robot" }),
  },
  APPLICATION_NOT_OIDC: { by: (scene) => updated(scene, "api", "oidc") },
  APPLICATION_NOT_API: { by: (scene) => updated(scene, "oidc", "api") },
  CLIENT_SECRET_MISSING: {
    async by(scene) {
      const { body } = await scene.admin.post(app(scene), {
        ...{ name: fresh("app"), authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" },
      });
      return scene.german.post(`/v1/projects/${scene.fixture.projectId}/applications/${body.appId}:rotateClientSecret`);
    },
  },
  LAST_OWNER: { by: ({ german, postern }) => german.delete(`/v1/users/${postern.adminId}`) },
  PHONE_INVALID: {
    by: ({ german, fixture: { userId } }) => german.post(`/v1/users/${userId}/phone`, { phone: "12" }),
    details: ["BadRequest"],
  },
  PHONE_PREMIUM_RATE: {
    by: ({ german, fixture: { userId } }) => german.post(`/v1/users/${userId}/phone`, { phone: "+19005551234" }),
    details: ["BadRequest"],
  },
  USER_INACTIVE: {
    async by({ admin, german, fixture }) {
      const userId = await fixture.newUser();
      await admin.post(`/v1/users/${userId}:deactivate`);
      return german.post(`/v1/users/${userId}/phone`, { phone: "+41446681800" });
    },
  },
  ORGANIZATION_INACTIVE: {
    async by({ postern, admin, german, fixture: { projectId } }) {
      const grantedOrganizationId = await organization(postern);
      await admin.post(`/v1/organizations/${grantedOrganizationId}:deactivate`);
      return german.post(`/v1/projects/${projectId}/grants`, { grantedOrganizationId });
    },
    details: ["BadRequest", "ResourceInfo"],
  },
  PROJECT_INACTIVE: {
    async by({ admin, german, fixture }) {
      const projectId = await fixture.newProject();
      await admin.post(`/v1/projects/${projectId}:deactivate`);
      return german.post(`/v1/users/${fixture.userId}/grants`, { projectId });
    },
    details: ["BadRequest", "ResourceInfo"],
  },
  PHONE_MISSING: { by: ({ german, fixture: { userId } }) => german.post(`/v1/users/${userId}/phone:resend`) },
  PHONE_VERIFIED: {
    by: async (scene) => scene.german.post(`/v1/users/${await withVerifiedPhone(scene)}/phone:resend`),
  },
  PHONE_UNCHANGED: {
    by: async (scene) => scene.german.post(`/v1/users/${await withVerifiedPhone(scene)}/phone`, verified),
  },
  PASSWORD_CHANGE_REQUIRED: {
    async by({ postern, admin, germanAs }) {
      const organizationId = await organization(postern);
      const { username, password } = await signedUp(postern, { organizationId });
      const policy = { minimumLength: 8, changeAtNextSignIn: true };
      await admin.put("/v1/policies/password", { policy }, { "x-service-orgid": organizationId });
      return germanAs().post("/v1/sessions", { loginName: username, password });
    },
  },
  PASSWORD_EXISTS: {
    by: async ({ postern, german }) => german.post(`/v1/users/${(await signedUp(postern)).userId}:invite`),
  },
  EMAIL_INVALID: {
    by: ({ german, fixture: { userId } }) => german.post(`/v1/users/${userId}/email`, { email: "a..da@example.com" }),
    details: ["BadRequest"],
  },
  EMAIL_VERIFIED: {
    by: async (scene) => scene.german.post(`/v1/users/${await withVerifiedEmail(scene)}/email:resend`),
  },
  EMAIL_UNCHANGED: {
    by: async (scene) => scene.german.post(`/v1/users/${await withVerifiedEmail(scene)}/email`, verifiedEmail),
  },
  CODE_INVALID: {
    by: async ({ german, fixture }) => tryCode(german, (await fixture.newPhone()).userId),
    details: ["BadRequest"],
  },
  CODE_ATTEMPTS: {
    async by({ admin, german, fixture }) {
      const { userId } = await fixture.newPhone();
      for (let tries = 0; tries < 5; tries++) await tryCode(admin, userId);
      return tryCode(german, userId);
    },
    details: ["RetryInfo"],
  },
  SEND_LIMIT: {
    async by({ postern, admin, german, fixture }) {
      const { userId } = await fixture.newPhone();
      for (let sent = 0; sent < postern.config.phoneSendsPerUser; sent++)
        await admin.post(`/v1/users/${userId}/phone:resend`);
      return german.post(`/v1/users/${userId}/phone:resend`);
    },
    details: ["RetryInfo"],
  },
  PASSWORD_MISMATCH: { by: (scene) => change(scene, { oldPassword: "wrong" }), details: ["BadRequest"] },
  PASSWORD_UNCHANGED: { by: (scene) => change(scene, { newPassword: undefined }), details: ["BadRequest"] },
  PASSWORD_POLICY: { by: (scene) => change(scene, { newPassword: "short" }), details: ["BadRequest"] },
  PASSWORD_REUSED: {
    async by(scene) {
      const organizationId = await organization(scene.postern);
      const header = { "x-service-orgid": organizationId };
      await scene.admin.put("/v1/policies/password", { policy: { minimumLength: 8, historyDepth: 2 } }, header);
      const { client, password } = await signedUp(scene.postern, { organizationId });
      await client.put("/v1/users/me/password", { oldPassword: password, newPassword: "Green-Teapot-77" });
      const back = { oldPassword: "Green-Teapot-77", newPassword: password };
      return scene.germanAs(client.token).put("/v1/users/me/password", back);
    },
    details: ["BadRequest"],
  },
  PASSWORD_MISSING: {
    async by({ admin, germanAs, fixture }) {
      const { body } = await admin.post(`/v1/users/${await fixture.newUser()}/tokens`);
      return germanAs(body.token).put("/v1/users/me/password", { oldPassword: "a", newPassword: "Green-Teapot-77" });
    },
  },
  PASSWORD_ATTEMPTS: {
    async by({ postern, germanAs }) {
      const { client } = await signedUp(postern);
      const wrong = { oldPassword: "wrong", newPassword: "Green-Teapot-77" };
      for (let tries = 0; tries < 10; tries++) await client.put("/v1/users/me/password", wrong);
      return germanAs(client.token).put("/v1/users/me/password", wrong);
    },
    details: ["RetryInfo"],
  },
} as const satisfies Partial<Record<Reason, Row>>;

const verified = { phone: "+41446681800", isVerified: true };

async function withVerifiedPhone({ admin, fixture }: Scene): Promise<string> {
  const userId = await fixture.newUser();
  await admin.post(`/v1/users/${userId}/phone`, verified);
  return userId;
}

const tryCode = (client: Scene["admin"], userId: string) =>
  client.post(`/v1/users/${userId}/phone:verify`, { verificationCode: "000000" });

/** Somebody changes the password, with something wrong about it. */
async function change({ postern, germanAs }: Scene, wrong: { oldPassword?: string; newPassword?: string | undefined }) {
  const { client, password } = await signedUp(postern);
  const asked = { oldPassword: password, newPassword: "Green-Teapot-77", ...wrong };
  return germanAs(client.token).put("/v1/users/me/password", { ...asked, newPassword: asked.newPassword ?? password });
}

const verifiedEmail = { email: "ada@example.org", isVerified: true };

async function withVerifiedEmail({ admin, fixture }: Scene): Promise<string> {
  const userId = await fixture.newUser();
  await admin.post(`/v1/users/${userId}/email`, verifiedEmail);
  return userId;
}

/** An update of an application as one of the other kind. */
async function updated(scene: Scene, kind: string, other: string): Promise<Answer> {
  const path = `/v1/projects/${scene.fixture.projectId}/applications`;
  const { body } = await scene.admin.post(`${path}/${kind}`, { name: fresh("app") });
  return scene.german.call("PATCH", `${path}/${body.appId}/${other}`, { name: fresh("app") });
}
