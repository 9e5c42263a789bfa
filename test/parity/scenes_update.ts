import type { JsonObject } from "@bufbuild/protobuf";
import { machine } from "../harness.ts";
import { fresh, made, type Scene, type Stage, within } from "./stage.ts";

type Given = Scene["given"];
type Extras = Pick<Scene, "fields" | "not" | "only" | "malformed">;

const scenesOf =
  (rpc: string) =>
  (name: string, says: Scene["says"], given: Given, extras: Extras = {}): Scene => ({
    rpc,
    name,
    says,
    given,
    ...extras,
  });

const human = scenesOf("UserService.UpdateHumanUser");
const project = scenesOf("ProjectService.UpdateProject");
const role = scenesOf("ProjectService.UpdateProjectRole");
const username = scenesOf("UserService.ChangeUsername");

/** An update of a new human, with a look at the user afterwards. */
const person =
  (request: JsonObject): Given =>
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
  role("a display name", "OK", (stage) => newProject(stage, { roleKey: "pilot", role: { displayName: "Captain" } })),
  role("an empty display name, which is populated", "OK", (stage) =>
    newProject(stage, { roleKey: "pilot", role: { displayName: "" } }),
  ),
  role("a role that is not there", "ROLE_NOT_FOUND", (stage) =>
    newProject(stage, { roleKey: "ghost", role: { displayName: "Boo" } }),
  ),
];
