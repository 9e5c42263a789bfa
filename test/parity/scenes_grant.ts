import type { JsonObject } from "@bufbuild/protobuf";
import { machine } from "../harness.ts";
import { made, malformed, type Scene, type Stage, within } from "./stage.ts";

type Extras = Pick<Scene, "fields" | "not" | "malformed">;

const scene = (name: string, says: Scene["says"], given: Scene["given"], extras: Extras = {}): Scene => ({
  ...{ rpc: "UserGrantService.AddUserGrant", name, says, given },
  ...extras,
});

/** A grant to a new user in the fixture's project, with a look at the user's grants afterwards. */
async function grant({ fixture, admin }: Stage, request: JsonObject = {}) {
  const userId = await fixture.newUser();
  const see = async () => (await admin.get(`/v1/users/${userId}/grants`, within(fixture.organizationId))).body;
  return { request: { userId, projectId: fixture.projectId, roleKeys: ["viewer"], ...request }, see };
}

const many = (length: number) => Array.from({ length }, (_, index) => `role ${index}`);

/** Every way in which the addition of a grant can end. */
export const grantScenes: readonly Scene[] = [
  scene("with a role", "OK", (stage) => grant(stage)),
  scene("without roles", "OK", (stage) => grant(stage, { roleKeys: [] })),
  scene("in a project that is granted", "OK", (stage) => grant(stage, stage.granted)),
  scene("to a user of another organization", "OK", async (stage) =>
    grant(stage, { userId: (await machine(stage.postern)).userId }),
  ),
  scene(
    "roles that are unknown, by index",
    "ROLE_UNKNOWN",
    (stage) => grant(stage, { roleKeys: ["ghost", "viewer", "zoë 🦊"] }),
    {
      fields: ["roleKeys[0]", "roleKeys[2]"],
    },
  ),
  scene(
    "a role beyond the subset that is granted",
    "ROLE_UNKNOWN",
    (stage) => grant(stage, { ...stage.granted, roleKeys: ["editor"] }),
    {
      fields: ["roleKeys[0]"],
    },
  ),
  scene("a role twice", "VALIDATION_FAILED", (stage) => grant(stage, { roleKeys: ["viewer", "viewer"] }), {
    fields: ["roleKeys"],
  }),
  scene("more roles than there may be", "VALIDATION_FAILED", (stage) => grant(stage, { roleKeys: many(1001) }), {
    fields: ["roleKeys"],
  }),
  scene(
    "roles that are empty, by index",
    "VALIDATION_FAILED",
    (stage) => grant(stage, { roleKeys: ["viewer", "", "a\u0000"] }),
    {
      fields: ["roleKeys[1]", "roleKeys[2]"],
    },
  ),
  scene("no project", "VALIDATION_FAILED", (stage) => grant(stage, { projectId: "" }), { fields: ["projectId"] }),
  scene(
    "everything wrong at once",
    "VALIDATION_FAILED",
    (stage) => grant(stage, { projectId: "x".repeat(201), projectGrantId: "y".repeat(201), roleKeys: [""] }),
    {
      fields: ["projectId", "projectGrantId", "roleKeys[0]"],
    },
  ),
  scene("a project that does not exist", "PROJECT_NOT_FOUND", (stage) => grant(stage, { projectId: "none" })),
  scene("a project grant that does not exist", "PROJECT_GRANT_NOT_FOUND", (stage) =>
    grant(stage, { projectGrantId: "none" }),
  ),
  scene(
    "a granted project without its grant",
    "PROJECT_GRANT_NEEDED",
    (stage) => grant(stage, { projectId: stage.granted.projectId }),
    { fields: ["projectGrantId"] },
  ),
  scene("a user who does not exist", "USER_NOT_FOUND", ({ fixture }) => ({
    request: { userId: "nobody", projectId: fixture.projectId },
  })),
  scene("twice", "USER_GRANT_EXISTS", async (stage) => {
    const given = await grant(stage);
    const { userId, ...body } = given.request;
    await made(stage.admin, `/v1/users/${userId}/grants`, body, within(stage.fixture.organizationId));
    return given;
  }),
  scene("by who may only read", "PERMISSION_DENIED", async (stage) => ({ ...(await grant(stage)), by: stage.viewer })),
  scene("by who may nothing", "PERMISSION_DENIED", async (stage) => ({ ...(await grant(stage)), by: stage.stranger })),
  scene("in an organization that does not exist", "PERMISSION_DENIED", async (stage) => ({
    ...(await grant(stage)),
    by: stage.viewer,
    headers: within("no-such-organization"),
  })),
  scene("in the caller's own organization, by default", "PROJECT_NOT_FOUND", async (stage) => ({
    ...(await grant(stage)),
    headers: {},
  })),
  scene("without a token", "UNAUTHENTICATED", async (stage) => ({ ...(await grant(stage)), by: stage.postern.as() })),
  scene(
    "roleKeys that are no list",
    "VALIDATION_FAILED",
    async (stage) => {
      const given = await grant(stage);
      return { ...given, raw: { json: JSON.stringify({ ...given.request, roleKeys: "viewer", projectId: 7 }) } };
    },
    {
      fields: ["roleKeys", "projectId"],
      not: { binary: "the binary format has no wrong types" },
      malformed: malformed.fields,
    },
  ),
];
