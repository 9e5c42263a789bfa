import { organization, signedUp } from "../harness.ts";
import { made, person, type Scene, type Stage, within } from "./stage.ts";

const scene = (rpc: string, name: string, says: Scene["says"], given: Scene["given"], fields?: readonly string[]) =>
  ({ rpc, name, says, given, ...(fields && { fields }) }) satisfies Scene;
const request = (name: string, says: Scene["says"], given: Scene["given"], fields?: readonly string[]) =>
  scene("AccountService.RequestPasswordReset", name, says, given, fields);
const reset = (name: string, says: Scene["says"], given: Scene["given"], fields?: readonly string[]) =>
  scene("AccountService.ResetPassword", name, says, given, fields);
const invite = (name: string, says: Scene["says"], given: Scene["given"], fields?: readonly string[]) =>
  scene("UserService.InviteUser", name, says, given, fields);

const newPassword = "Green-Teapot-77";

/** A new user without a password, and the code of its invitation. */
async function invited({ admin, fixture }: Stage): Promise<{ userId: string; verificationCode: string }> {
  const userId = await fixture.newUser();
  const { verificationCode } = await made(admin, `/v1/users/${userId}:invite`, { returnCode: {} });
  return { userId, verificationCode };
}

const signIn = (name: string, says: Scene["says"], given: Scene["given"], fields?: readonly string[]) =>
  scene("SessionService.CreateSession", name, says, given, fields);

/** A user of an organization whose policy wants the first password changed. */
async function oldPassword({ postern, admin }: Stage) {
  const organizationId = await organization(postern);
  const { username, password } = await signedUp(postern, { organizationId });
  const policy = { minimumLength: 8, changeAtNextSignIn: true };
  const set = await admin.put("/v1/policies/password", { policy }, within(organizationId));
  if (set.status !== 200) throw new Error(JSON.stringify(set.body));
  return { request: { loginName: username, password }, by: postern.as(), headers: {} };
}

/** Requests for a new password, invitations, and what their codes do. */
export const passwordResetScenes: readonly Scene[] = [
  request("by the login name of somebody", "OK", async (stage) => ({
    request: { loginName: (await person(stage)).username },
    by: stage.postern.as(),
    headers: {},
    answer: {},
  })),
  request("by a login name that nobody has", "OK", ({ postern }) => ({
    request: { loginName: "nobody" },
    by: postern.as(),
    headers: {},
    answer: {},
  })),
  request("by an address", "OK", () => ({ request: { email: "ada@example.com" }, answer: {} })),
  request("by both", "VALIDATION_FAILED", () => ({ request: { loginName: "ada", email: "ada@example.com" } }), [
    ...["loginName", "email"],
  ]),
  request("by nothing", "VALIDATION_FAILED", () => ({ request: {} }), ["loginName", "email"]),
  request("by too long a name", "VALIDATION_FAILED", () => ({ request: { loginName: "a".repeat(201) } }), [
    "loginName",
  ]),
  reset("with the code of an invitation", "OK", async (stage) => {
    const { userId, verificationCode } = await invited(stage);
    const see = async () => (await stage.admin.get(`/v1/users/${userId}`)).body.user;
    return { request: { verificationCode, newPassword }, by: stage.postern.as(), headers: {}, see };
  }),
  reset(
    "with another code",
    "CODE_INVALID",
    () => ({ request: { verificationCode: "2345-6789-BCDF-GHJK", newPassword } }),
    ["verificationCode"],
  ),
  reset(
    "with a password that breaks the policy",
    "PASSWORD_POLICY",
    async (stage) => ({ request: { verificationCode: (await invited(stage)).verificationCode, newPassword: "xkvq" } }),
    Array(4).fill("newPassword"),
  ),
  reset("with nothing", "VALIDATION_FAILED", () => ({ request: { verificationCode: " ", newPassword: "" } }), [
    ...["verificationCode", "newPassword"],
  ]),
  signIn("with a password that must be changed", "PASSWORD_CHANGE_REQUIRED", oldPassword),
  signIn("with a password that must be changed, and a new one", "OK", async (stage) => {
    const given = await oldPassword(stage);
    return { ...given, request: { ...given.request, newPassword } };
  }),
  signIn(
    "with a new password that will not do",
    "PASSWORD_POLICY",
    async (stage) => {
      const given = await oldPassword(stage);
      return { ...given, request: { ...given.request, newPassword: "xkvq" } };
    },
    ["newPassword"],
  ),
  invite("a code is sent", "OK", async ({ fixture }) => ({ request: { userId: await fixture.newUser() } })),
  invite("a code is answered", "OK", async ({ fixture }) => ({
    request: { userId: await fixture.newUser(), returnCode: {} },
  })),
  invite(
    "both",
    "VALIDATION_FAILED",
    async ({ fixture }) => ({ request: { userId: await fixture.newUser(), sendCode: {}, returnCode: {} } }),
    ["sendCode", "returnCode"],
  ),
  invite("of a user who has a password", "PASSWORD_EXISTS", async (stage) => ({
    request: { userId: (await person(stage)).userId },
  })),
  invite("by somebody who may only read", "PERMISSION_DENIED", async ({ fixture, viewer }) => ({
    request: { userId: await fixture.newUser() },
    by: viewer,
  })),
  invite("of a user who is deactivated", "USER_INACTIVE", async ({ admin, fixture }) => {
    const userId = await fixture.newUser();
    await made(admin, `/v1/users/${userId}:deactivate`, {});
    return { request: { userId }, headers: within(fixture.organizationId) };
  }),
];
