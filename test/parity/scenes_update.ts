import type { JsonObject } from "@bufbuild/protobuf";
import { machine, organization } from "../harness.ts";
import { fresh, made, type Scene, type Stage, within } from "./stage.ts";

type Preparation = Scene["given"];
type Extras = Pick<Scene, "fields" | "not" | "only" | "malformed">;

const scenesOf =
  (rpc: string) =>
  (name: string, says: Scene["says"], given: Preparation, extras: Extras = {}): Scene => ({
    rpc,
    name,
    says,
    given,
    ...extras,
  });

const human = scenesOf("UserService.UpdateHumanUser");
const project = scenesOf("ProjectService.UpdateProject");
const role = scenesOf("ProjectService.UpdateProjectRole");
const grant = scenesOf("ProjectService.ChangeProjectGrant");
const reset = scenesOf("PolicyService.ResetPasswordPolicy");
const oidc = scenesOf("ApplicationService.UpdateOidcApplication");
const username = scenesOf("UserService.ChangeUsername");

/** An update of a new human, with a look at the user afterwards. */
const person =
  (request: JsonObject): Preparation =>
  async ({ fixture, admin }) => {
    const userId = await fixture.newUser();
    const see = async () => {
      const { user } = (await admin.get(`/v1/users/${userId}`)).body;
      return { human: user.human, sequence: user.details.sequence };
    };
    return { request: { userId, ...request }, see };
  };

const eve = { human: { givenName: "Eve" } };

async function newProject({ fixture, admin }: Stage, request: JsonObject) {
  const projectId = await fixture.newProject();
  await made(admin, `/v1/projects/${projectId}/roles`, { key: "pilot" }, within(fixture.organizationId));
  const see = async () =>
    (await admin.get(`/v1/projects/${projectId}/roles`, within(fixture.organizationId))).body.roles;
  return { request: { projectId, ...request }, see };
}

/** A change of a new grant of the role `viewer`, on which a user grant rests, with a look at both afterwards. */
async function lent({ postern, fixture, admin }: Stage, request: JsonObject) {
  const [headers, other] = [within(fixture.organizationId), await organization(postern)];
  const projectId = await fixture.newProject();
  for (const key of ["viewer", "pilot"]) await made(admin, `/v1/projects/${projectId}/roles`, { key }, headers);
  const wanted = { grantedOrganizationId: other, roleKeys: ["viewer"] };
  const { projectGrantId } = await made(admin, `/v1/projects/${projectId}/grants`, wanted, headers);
  const held = { projectId, projectGrantId, roleKeys: ["viewer"] };
  await made(admin, `/v1/users/${await fixture.newUser()}/grants`, held, within(other));
  const see = async () => [
    (await admin.get(`/v1/projects/${projectId}/grants`, headers)).body,
    (await admin.get("/v1/user-grants", within(other))).body,
  ];
  return { request: { projectId, projectGrantId, ...request }, see };
}

const every = {
  name: "Portal",
  redirectUris: ["https://portal.example/cb", "http://portal.example/cb#f"],
  responseTypes: ["OIDC_RESPONSE_TYPE_CODE", "OIDC_RESPONSE_TYPE_ID_TOKEN"],
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_IMPLICIT"],
  appType: "OIDC_APP_TYPE_USER_AGENT",
  authMethodType: "OIDC_AUTH_METHOD_TYPE_POST",
  postLogoutRedirectUris: ["https://portal.example/bye"],
  version: "OIDC_VERSION_1_0",
  devMode: true,
  accessTokenType: "OIDC_TOKEN_TYPE_JWT",
  accessTokenRoleAssertion: true,
  idTokenRoleAssertion: true,
  idTokenUserinfoAssertion: true,
  clockSkew: "1.5s",
  accessTokenLifetime: "300s",
  idTokenLifetime: "600s",
  refreshTokenIdleLifetime: "3600s",
  refreshTokenLifetime: "86400s",
  additionalOrigins: ["https://portal.example:8443"],
  skipNativeAppSuccessPage: true,
  idTokenAlgorithm: "OIDC_ID_TOKEN_ALGORITHM_ES256",
  backChannelLogoutUri: "https://portal.example/logout",
  firstParty: true,
  declaredClaims: [
    { name: "department", userMetadata: "department", places: ["CLAIM_PLACE_ID_TOKEN", "CLAIM_PLACE_USERINFO"] },
    { name: "plan", organizationMetadata: "plan", places: ["CLAIM_PLACE_ACCESS_TOKEN"] },
    { name: "groups", roles: {}, places: ["CLAIM_PLACE_ID_TOKEN"] },
    { name: "is_editor", role: "editor", places: ["CLAIM_PLACE_ID_TOKEN"] },
  ],
};

/** An update of a new application with two redirect URIs and a clock skew, with a look at it afterwards. */
const application =
  (request: JsonObject): Preparation =>
  async ({ fixture, admin }) => {
    const headers = within(fixture.organizationId);
    const projectId = await fixture.newProject();
    const before = { name: "Shop", redirectUris: ["https://shop.example/cb", "/cb"], clockSkew: "3s", devMode: true };
    const { appId } = await made(admin, `/v1/projects/${projectId}/applications/oidc`, before, headers);
    const see = async () => (await admin.get(`/v1/projects/${projectId}/applications/${appId}`, headers)).body;
    return { request: { projectId, appId, ...request }, see };
  };

/** Updates: by mask, by what is populated, and for an expected sequence. */
export const updateScenes: readonly Scene[] = [
  human("one name, which is populated", "OK", person(eve)),
  human(
    "the fields of the mask only",
    "OK",
    person({ human: { givenName: "Eve", familyName: "Noether" }, updateMask: "familyName" }),
  ),
  human("every field by *", "OK", person({ human: { givenName: "Eve", familyName: "Noether" }, updateMask: "*" })),
  human("the names that it has", "OK", person({ human: { givenName: "Ada", familyName: "Byron" } })),
  human("a name in Unicode, trimmed", "OK", person({ human: { givenName: " Zoë 🦊 " } })),
  human("for the sequence that there is", "OK", person({ ...eve, expectedSequence: "1" })),
  human("for another sequence", "CONFLICT", person({ ...eve, expectedSequence: "7" })),
  human("for the largest sequence", "CONFLICT", person({ ...eve, expectedSequence: "18446744073709551615" })),
  human("nothing", "VALIDATION_FAILED", person({ human: {} }), { fields: ["updateMask"] }),
  human("no human", "VALIDATION_FAILED", person({}), { fields: ["human"] }),
  human(
    "paths that are unknown, or cannot change",
    "VALIDATION_FAILED",
    person({ ...eve, updateMask: "givenName,email,userId,givenName.first" }),
    { fields: ["updateMask", "updateMask", "updateMask"] },
  ),
  human("a name of the mask that is left out", "VALIDATION_FAILED", person({ ...eve, updateMask: "familyName" }), {
    fields: ["human.familyName"],
  }),
  human(
    "an empty name, and one that is too long",
    "VALIDATION_FAILED",
    person({ human: { givenName: " ", familyName: "x".repeat(201) } }),
    {
      fields: ["human.givenName", "human.familyName"],
    },
  ),
  human("a machine", "USER_NOT_HUMAN", async ({ postern, fixture }) => ({
    request: { userId: (await machine(postern, fixture)).userId, ...eve },
  })),
  human("nobody", "USER_NOT_FOUND", () => ({ request: { userId: "none", ...eve } })),
  oidc("empties redirectUris by the mask", "OK", application({ application: {}, updateMask: "redirectUris" })),
  oidc("empties redirectUris by an empty list in the body", "OK", application({ application: { redirectUris: [] } }), {
    only: "rest",
  }),
  oidc(
    "an empty list alone, which is not populated",
    "VALIDATION_FAILED",
    application({ application: { redirectUris: [] } }),
    {
      fields: ["updateMask"],
      not: { rest: "the mask follows from the keys of the body" },
    },
  ),
  oidc("removes what null stands for", "OK", application({ application: { clockSkew: null, devMode: null } }), {
    only: "rest",
  }),
  oidc(
    "removes what the mask names and the message lacks",
    "OK",
    application({ application: {}, updateMask: "clockSkew,devMode" }),
  ),
  oidc("every field", "OK", application({ application: every })),
  oidc(
    "every field by *, of which all but the name get their defaults",
    "OK",
    application({ application: { name: "Shop" }, updateMask: "*" }),
  ),
  oidc(
    "values that are there, which are populated",
    "OK",
    application({ application: { devMode: false, appType: 0 } }),
  ),
  oidc("what it has already", "OK", application({ application: { name: "Shop", clockSkew: "3s" } })),
  oidc("only a report", "OK", application({ application: every, validateOnly: true })),
  oidc(
    "a method without a secret",
    "OK",
    application({ application: { authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" } }),
  ),
  oidc("for another sequence", "CONFLICT", application({ application: every, expectedSequence: "2" })),
  oidc(
    "a response type that no grant type covers",
    "VALIDATION_FAILED",
    application({ application: { responseTypes: [1] } }),
    {
      fields: ["application.responseTypes[0]"],
    },
  ),
  oidc(
    "a grant type that leaves the response type uncovered",
    "VALIDATION_FAILED",
    application({ application: { grantTypes: [1] } }),
    {
      fields: ["application.responseTypes[0]"],
    },
  ),
  oidc(
    "a response type, with grant types that follow",
    "OK",
    application({ application: { responseTypes: [1] }, updateMask: "responseTypes,grantTypes" }),
  ),
  oidc(
    "fields that are wrong, and paths that are",
    "VALIDATION_FAILED",
    application({
      application: {
        name: " ",
        appType: 99,
        clockSkew: "-1s",
        idTokenLifetime: "1.5s",
        additionalOrigins: ["a.example"],
      },
      updateMask: "clientId,name",
    }),
    {
      fields: [
        "application.name",
        "application.appType",
        "application.clockSkew",
        "application.idTokenLifetime",
        "application.additionalOrigins[0]",
        "updateMask",
      ],
    },
  ),
  oidc("that is not there", "APPLICATION_NOT_FOUND", async ({ fixture: { projectId } }) => ({
    request: { projectId, appId: "none", application: every },
  })),
  oidc("in another project", "APPLICATION_NOT_FOUND", async ({ fixture }) => ({
    request: { projectId: await fixture.newProject(), appId: await fixture.newApp(), application: every },
  })),
  username("a name that is taken, in another case", "LOGIN_NAME_TAKEN", async ({ fixture, admin }) => {
    const userId = await fixture.newUser();
    const { user } = (await admin.get(`/v1/users/${userId}`)).body;
    return { request: { userId: await fixture.newUser(), username: user.username.replace("user", "User") } };
  }),
  username(
    "a name with a blank",
    "VALIDATION_FAILED",
    async ({ fixture }) => ({
      request: { userId: await fixture.newUser(), username: "ada byron" },
    }),
    { fields: ["username"] },
  ),
  username("for another sequence", "CONFLICT", async ({ fixture }) => ({
    request: { userId: await fixture.newUser(), username: fresh("u").replace(" ", "-"), expectedSequence: "2" },
  })),
  project("a name that is taken", "PROJECT_NAME_TAKEN", async ({ fixture, admin }) => {
    const headers = within(fixture.organizationId);
    const name = fresh("project");
    await made(admin, "/v1/projects", { name }, headers);
    return { request: { projectId: await fixture.newProject(), project: { name } } };
  }),
  project("of another organization, which granted it", "PROJECT_NOT_FOUND", ({ granted: { projectId } }) => ({
    request: { projectId, project: { name: "Mine" } },
  })),
  grant("roles that are removed and added", "OK", (stage) => lent(stage, { roleKeys: ["pilot"] })),
  grant("roles that are unknown, by index", "ROLE_UNKNOWN", (stage) => lent(stage, { roleKeys: ["ghost", "pilot"] }), {
    fields: ["roleKeys[0]"],
  }),
  grant("for another sequence", "CONFLICT", (stage) => lent(stage, { roleKeys: [], expectedSequence: "9" })),
  grant("that is not there", "PROJECT_GRANT_NOT_FOUND", (stage) => lent(stage, { projectGrantId: "none" })),
  reset("one that was set", "OK", async ({ postern, admin }) => {
    const headers = within(await organization(postern));
    await admin.put("/v1/policies/password", { policy: { minimumLength: 4 } }, headers);
    const see = async () => (await admin.get("/v1/policies/password", headers)).body;
    return { request: {}, headers, see };
  }),
  role("a display name", "OK", (stage) => newProject(stage, { roleKey: "pilot", role: { displayName: "Captain" } })),
  role("an empty display name, which is populated", "OK", (stage) =>
    newProject(stage, { roleKey: "pilot", role: { displayName: "" } }),
  ),
  role("a role that is not there", "ROLE_NOT_FOUND", (stage) =>
    newProject(stage, { roleKey: "ghost", role: { displayName: "Boo" } }),
  ),
];
