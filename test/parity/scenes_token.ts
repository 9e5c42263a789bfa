import type { JsonObject } from "@bufbuild/protobuf";
import { machine } from "../harness.ts";
import { made, type Scene, type Stage, within } from "./stage.ts";

const scene = (name: string, says: Scene["says"], request: JsonObject, fields?: readonly string[]): Scene => ({
  ...{ rpc: "UserService.CreateAccessToken", name, says },
  ...(fields ? { fields } : {}),
  async given({ fixture, admin }) {
    const userId = await fixture.newUser();
    const see = async () => (await admin.get(`/v1/users/${userId}/tokens`, within(fixture.organizationId))).body;
    return { request: { userId, ...request }, see };
  },
});

/** A token of an ORG_OWNER that is limited to one permission. */
async function reader({ postern, admin, fixture }: Stage) {
  const { userId } = await machine(postern, fixture);
  await made(admin, "/v1/members", { userId, roles: ["ORG_OWNER"] }, within(fixture.organizationId));
  const { token } = await made(admin, `/v1/users/${userId}/tokens`, { permissions: ["user.read"] });
  return { userId, client: postern.as(token) };
}

/** Access tokens with a name, an end and fewer permissions than their user. */
export const tokenScenes: readonly Scene[] = [
  scene("with all that it can have", "OK", {
    name: "  nightly export ",
    expirationDate: "2999-01-01T00:00:00Z",
    permissions: ["user.read", "user.grant.read"],
  }),
  scene(
    "with everything wrong",
    "VALIDATION_FAILED",
    { name: "n".repeat(201), expirationDate: "2001-01-01T00:00:00Z", permissions: ["user.read", "everything", ""] },
    ["name", "permissions[1]", "permissions[2]", "expirationDate"],
  ),
  scene("to the end of the last year", "OK", { expirationDate: "9999-12-31T23:59:59.999999999Z" }),
  scene("with a permission twice", "VALIDATION_FAILED", { permissions: ["user.read", "user.read"] }, ["permissions"]),
  {
    ...{ rpc: "UserService.GetUser", name: "by a token that is limited to it", says: "OK" },
    given: async (stage) => ({ request: { userId: stage.fixture.userId }, by: (await reader(stage)).client }),
  },
  {
    ...{ rpc: "UserService.DeleteUser", name: "by a token that is limited to less", says: "PERMISSION_DENIED" },
    given: async (stage) => ({ request: { userId: await stage.fixture.newUser() }, by: (await reader(stage)).client }),
  },
  {
    ...{ rpc: "UserService.CreateAccessToken", name: "by a limited token of itself", says: "PERMISSION_DENIED" },
    async given(stage) {
      const { userId, client } = await reader(stage);
      return { request: { userId }, by: client };
    },
  },
  {
    ...{ rpc: "AccountService.ChangePassword", name: "by a limited token", says: "PERMISSION_DENIED" },
    given: async (stage) => ({
      request: { oldPassword: "Blue-Kettle-42", newPassword: "Green-Teapot-77" },
      by: (await reader(stage)).client,
    }),
  },
];
