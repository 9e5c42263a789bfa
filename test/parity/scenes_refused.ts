import type { JsonObject } from "@bufbuild/protobuf";
import { fresh, made, malformed, newNumber, person, type Scene, type Stage, within } from "./stage.ts";

type RequestOf = JsonObject | ((stage: Stage) => Promise<JsonObject>);

const scene = (rpc: string, says: Scene["says"], asked: RequestOf, fields?: string[]): Scene => ({
  ...{ rpc, says, name: `says ${says} ${fields?.join(" ") ?? ""}`.trimEnd() },
  ...(fields && { fields }),
  given: async (stage) => ({ request: typeof asked === "function" ? await asked(stage) : asked }),
});

async function twice({ admin, fixture }: Stage, path: string, body: JsonObject): Promise<JsonObject> {
  await made(admin, path, body, within(fixture.organizationId));
  return body;
}

const person1 = { givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
const page = { pageToken: "no token" };
const missing = "VALIDATION_FAILED";

/** The refusals of each service, beside the operations that have scenes of their own. */
export const refusedScenes: readonly Scene[] = [
  // A name of its own each time: after ten failures a name has to wait.
  scene("SessionService.CreateSession", "SIGN_IN_FAILED", async () => ({ loginName: fresh("Zoë"), password: "🦊" })),
  scene("SessionService.CreateSession", missing, {}, ["loginName", "password"]),
  scene("SessionService.ListSessions", "USER_NOT_FOUND", { userId: "nobody" }),
  scene("SessionService.DeleteSession", "SESSION_NOT_FOUND", { sessionId: "none" }),
  scene("OrganizationService.CreateOrganization", missing, { name: " " }, ["name"]),
  scene("OrganizationService.CreateOrganization", "ORGANIZATION_NAME_TAKEN", (stage) =>
    twice(stage, "/v1/organizations", { name: fresh("org") }),
  ),
  scene("OrganizationService.GetOrganization", "ORGANIZATION_NOT_FOUND", { organizationId: "none" }),
  scene("OrganizationService.ListOrganizations", missing, { pageSize: -1 }, ["pageSize"]),
  scene("OrganizationService.ListOrganizations", "PAGE_TOKEN_INVALID", page, ["pageToken"]),
  scene("UserService.CreateHumanUser", "LOGIN_NAME_TAKEN", (stage) =>
    twice(stage, "/v1/users/human", { username: fresh("u").replace(" ", "-"), ...person1 }),
  ),
  scene("UserService.CreateHumanUser", missing, { username: "a b", email: "nowhere" }, [
    ...["username", "givenName", "familyName", "email"],
  ]),
  scene("UserService.CreateHumanUser", "PASSWORD_POLICY", { username: "kettle", ...person1, password: "kettle" }),
  scene("UserService.CreateHumanUser", "PHONE_INVALID", { username: "kettle", ...person1, phone: "12" }, ["phone"]),
  scene("UserService.CreateHumanUser", missing, { ...person1, username: "ﷺ".repeat(20), phone: "12" }, [
    ...["username", "phone"],
  ]),
  scene("UserService.CreateHumanUser", missing, { username: "kettle", phone: "12" }, [
    ...["givenName", "familyName", "email", "phone"],
  ]),
  scene("UserService.CreateMachineUser", missing, {}, ["username", "name"]),
  scene("UserService.CreateMachineUser", missing, { username: "ﷺ".repeat(20), name: "" }, ["username", "name"]),
  scene("UserService.GetUser", "USER_NOT_FOUND", { userId: "zoë/🦊" }),
  scene("UserService.ListUsers", missing, { pageSize: 1001 }, ["pageSize"]),
  scene("UserService.VerifyPhone", "PHONE_MISSING", async ({ fixture }) => ({
    userId: await fixture.newUser(),
    verificationCode: "234567",
  })),
  scene("UserService.VerifyPhone", "CODE_INVALID", wrongCode, ["verificationCode"]),
  scene("UserService.VerifyPhone", "CODE_ATTEMPTS", async (stage) => {
    const { admin } = stage;
    const asked = await wrongCode(stage);
    const { userId, ...body } = asked;
    for (let tries = 0; tries < 5; tries++) await admin.post(`/v1/users/${userId}/phone:verify`, body);
    return asked;
  }),
  scene("UserService.ResendPhoneCode", "PHONE_VERIFIED", async ({ admin, fixture }) => {
    const userId = await fixture.newUser();
    await made(admin, `/v1/users/${userId}/phone`, { phone: newNumber(), isVerified: true });
    return { userId };
  }),
  scene("UserService.RemovePhone", "USER_NOT_FOUND", { userId: "nobody" }),
  scene("UserService.SetPassword", "PASSWORD_POLICY", async ({ fixture }) => ({
    userId: await fixture.newUser(),
    newPassword: "kettle",
  })),
  scene("UserService.DeactivateUser", "USER_NOT_FOUND", { userId: "nobody" }),
  scene(
    "UserService.CreateAccessToken",
    missing,
    async (stage) => ({
      userId: (await person(stage)).userId,
      expirationDate: "2001-01-01T00:00:00Z",
    }),
    ["expirationDate"],
  ),
  scene("UserService.CreateAccessToken", missing, { userId: "u".repeat(201), expirationDate: "2001-01-01T00:00:00Z" }, [
    "userId",
    "expirationDate",
  ]),
  scene("UserService.ListUsers", missing, { pageSize: -1, ...page }, ["pageSize", "pageToken"]),
  scene("UserService.RevokeAccessToken", "TOKEN_NOT_FOUND", async ({ fixture }) => ({
    userId: fixture.userId,
    tokenId: "none",
  })),
  scene("ProjectService.CreateProject", "PROJECT_NAME_TAKEN", (stage) =>
    twice(stage, "/v1/projects", { name: fresh("p") }),
  ),
  scene("ProjectService.AddProjectRole", "ROLE_TAKEN", async ({ fixture }) => ({
    projectId: fixture.projectId,
    key: "viewer",
  })),
  scene("ProjectService.AddProjectRole", missing, { projectId: "p", key: "a b", displayName: "\u200b" }, [
    ...["key", "displayName"],
  ]),
  scene("ProjectService.RemoveProjectRole", "ROLE_NOT_FOUND", async ({ fixture }) => ({
    projectId: fixture.projectId,
    roleKey: "a role/with a slash",
  })),
  scene("ProjectService.GrantProject", "GRANT_TO_OWNER", async ({ fixture: { projectId, organizationId } }) => ({
    ...{ projectId, grantedOrganizationId: organizationId },
  })),
  scene("ProjectService.RevokeProjectGrant", "PROJECT_GRANT_NOT_FOUND", async ({ fixture }) => ({
    ...{ projectId: fixture.projectId, projectGrantId: "none" },
  })),
  scene("ApplicationService.GetApplication", "APPLICATION_NOT_FOUND", async ({ fixture }) => ({
    ...{ projectId: fixture.projectId, appId: "none" },
  })),
  scene("ApplicationService.RotateClientSecret", "CLIENT_SECRET_MISSING", async ({ admin, fixture }) => {
    const { projectId, organizationId } = fixture;
    const app = { name: fresh("app"), authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" };
    const { appId } = await made(admin, `/v1/projects/${projectId}/applications/oidc`, app, within(organizationId));
    return { projectId, appId };
  }),
  scene("UserGrantService.AddUserGrants", "USER_NOT_FOUND", async ({ fixture }) => ({
    items: [{ userId: "nobody", projectId: fixture.projectId }],
    allOrNothing: true,
  })),
  scene("UserGrantService.AddUserGrants", "OK", async ({ fixture: { userId, projectId, newUser } }) => ({
    items: [
      { userId: await newUser(), projectId },
      { userId: "nobody", projectId },
      { userId, projectId, roleKeys: ["ghost", "viewer", "zoë"] },
    ],
  })),
  scene("UserGrantService.AddUserGrants", missing, { items: [] }, ["items"]),
  scene(
    "UserGrantService.ChangeUserGrant",
    "ROLE_UNKNOWN",
    async ({ fixture }) => ({
      userGrantId: await fixture.newUserGrant(),
      roleKeys: ["ghost"],
    }),
    ["roleKeys[0]"],
  ),
  scene("UserGrantService.RemoveUserGrant", "USER_GRANT_NOT_FOUND", { userGrantId: "none" }),
  scene("MemberService.AddMember", "MEMBER_EXISTS", async (stage) => {
    const body = { userId: await stage.fixture.newUser(), roles: ["ORG_VIEWER"] };
    return twice(stage, "/v1/members", body);
  }),
  scene(
    "MemberService.AddMember",
    "MEMBER_ROLE_SCOPE",
    async ({ fixture }) => ({
      userId: fixture.userId,
      roles: ["ORG_VIEWER", "PROJECT_OWNER"],
    }),
    ["roles[1]"],
  ),
  scene("MemberService.AddMember", missing, { userId: "", roles: ["ORG_VIEWER", "PROJECT_OWNER"] }, [
    ...["userId", "roles[1]"],
  ]),
  scene("MemberService.AddMember", missing, { userId: "", roles: ["ORG_VIEWER"], instance: true, projectId: "p" }, [
    ...["userId", "projectId"],
  ]),
  scene("MemberService.RemoveMember", "LAST_OWNER", async ({ postern }) => ({
    userId: postern.adminId,
    instance: true,
  })),
  scene("PolicyService.SetPasswordPolicy", missing, { policy: { minimumLength: 0, historyDepth: 25 } }, [
    "policy.minimumLength",
    "policy.historyDepth",
  ]),
  {
    ...scene("PolicyService.SetPasswordPolicy", missing, { policy: { minimumLength: { toString: 1 } } }, [
      "policy.minimumLength",
    ]),
    not: { binary: "the binary format has no types" },
    malformed: malformed.fields,
  },
  scene("PolicyService.SetLockoutPolicy", missing, {}, ["policy"]),
  scene("EventService.ListEvents", missing, { objectId: "x".repeat(201) }, ["objectId"]),
  scene("EventService.ListEvents", "PAGE_TOKEN_INVALID", page, ["pageToken"]),
  scene("EventService.ListEvents", missing, { objectId: "x".repeat(201), types: ["a.b"], ...page }, [
    ...["objectId", "types[0]", "pageToken"],
  ]),
];

async function wrongCode({ fixture }: Stage): Promise<{ userId: string; verificationCode: string }> {
  const { userId, code } = await fixture.newPhone();
  return { userId, verificationCode: (code.startsWith("2") ? "3" : "2") + code.slice(1) };
}
