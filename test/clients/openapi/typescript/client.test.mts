// What a TypeScript client made of the OpenAPI document can count on.
import assert from "node:assert/strict";
import test from "node:test";
import {
  AccountServiceApi,
  ApplicationServiceApi,
  Configuration,
  ModelErrorFromJSON,
  OidcAppType,
  ResponseError,
  SessionServiceApi,
  UserGrantServiceApi,
  UserServiceApi,
} from "./generated/index.js";

const { POSTERN_URL, POSTERN_TOKEN } = process.env;
const userId = process.env.POSTERN_USER_ID ?? "";
const projectId = process.env.POSTERN_PROJECT_ID ?? "";

const by = (accessToken?: string) => new Configuration({ basePath: POSTERN_URL, accessToken });
const admin = by(POSTERN_TOKEN);
const users = new UserServiceApi(admin);
const applications = new ApplicationServiceApi(admin);
const grants = new UserGrantServiceApi(admin);

test("changes a password and is told of a wrong one", async () => {
  const loginName = process.env.POSTERN_LOGIN_NAME ?? "";
  const password = process.env.POSTERN_PASSWORD ?? "";
  const createSessionRequest = { loginName, password };
  const { token } = await new SessionServiceApi(by()).sessionServiceCreateSession({ createSessionRequest });
  const accounts = new AccountServiceApi(by(token));
  assert.equal((await accounts.accountServiceGetMe()).user?.human?.givenName, "Ada");

  const changePasswordRequest = { oldPassword: password, newPassword: "Green-Teapot-77" };
  const { details } = await accounts.accountServiceChangePassword({ changePasswordRequest });
  assert.ok(Number(details?.sequence) > 1);
  await refused("400 PASSWORD_MISMATCH oldPassword", accounts.accountServiceChangePassword({ changePasswordRequest }));
});

test("creates an application and is told of a missing project", async () => {
  const redirectUris = ["https://app.example/callback"];
  const createOidcApplicationBody = { name: "Zoë 🦊", redirectUris, appType: OidcAppType.OidcAppTypeNative };
  const created = await applications.applicationServiceCreateOidcApplication({ projectId, createOidcApplicationBody });
  assert.ok(created.noneCompliant && created.complianceProblems.length > 0);
  assert.match(created.clientSecret ?? "", /^cs_/);

  const { appId } = created;
  const oidcApplicationUpdate = { name: "Renamed" };
  await applications.applicationServiceUpdateOidcApplication({ projectId, appId, oidcApplicationUpdate });
  const { application } = await applications.applicationServiceGetApplication({ projectId, appId });
  assert.deepEqual([application?.name, application?.oidc?.redirectUris], ["Renamed", redirectUris]);

  const nowhere = { projectId: "none", createOidcApplicationBody };
  await refused("404 PROJECT_NOT_FOUND project/none", applications.applicationServiceCreateOidcApplication(nowhere));
});

test("changes a phone and is told of every wrong field", async () => {
  const phone = { phone: "+41 44 668 18 00", returnCode: {} };
  const changed = await users.userServiceChangePhone({ userId, changePhoneBody: phone });
  assert.equal(changed.verificationCode?.length, 6);
  assert.equal((await users.userServiceGetUser({ userId })).user?.human?.phone, "+41446681800");

  const changePhoneBody = { phone: "12", returnCode: {}, sendCode: {} };
  const change = users.userServiceChangePhone({ userId, changePhoneBody });
  await refused("400 VALIDATION_FAILED phone sendCode returnCode", change);
});

test("adds a grant and is told of one that is there", async () => {
  const addUserGrantBody = { projectId, roleKeys: ["viewer"] };
  const { userGrantId } = await grants.userGrantServiceAddUserGrant({ userId, addUserGrantBody });
  const { userGrants } = await grants.userGrantServiceListUserGrants2({ userId });
  assert.deepEqual(
    userGrants.map(({ roleKeys }) => roleKeys),
    [["viewer"]],
  );
  const again = grants.userGrantServiceAddUserGrant({ userId, addUserGrantBody });
  await refused(`409 USER_GRANT_EXISTS user_grant/${userGrantId}`, again);
});

test("is asked for a token", async () => {
  await refused("401 UNAUTHENTICATED", new AccountServiceApi(by()).accountServiceGetMe());
});

/** Expects a refusal by its status, reason, object and wrong fields. */
async function refused(expected: string, call: Promise<unknown>): Promise<void> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ResponseError, String(error));
  const { details } = ModelErrorFromJSON(await error.response.json());
  const words = details.flatMap(({ reason, resourceType, resourceName, fieldViolations = [] }) => [
    ...(reason ? [reason] : []),
    ...(resourceName ? [`${resourceType}/${resourceName}`] : []),
    ...fieldViolations.map(({ field }) => field),
  ]);
  assert.equal([error.response.status, ...words].join(" "), expected);
}
