import type { JsonObject } from "@bufbuild/protobuf";
import { newId } from "../../src/deps.ts";
import { fresh, made, type Scene, type Stage, within } from "./stage.ts";

type SentBy = { readonly by?: "viewer"; readonly request: JsonObject | ((stage: Stage) => Promise<JsonObject>) };

const scene = (named: Pick<Scene, "rpc" | "name" | "says">, fields: readonly string[], sent: SentBy): Scene => ({
  ...named,
  fields,
  given: async (stage) => ({
    request: typeof sent.request === "function" ? await sent.request(stage) : sent.request,
    ...(sent.by && { by: stage[sent.by] }),
  }),
});

const wrong = (rpc: string, name: string) => ({ rpc, name, says: "VALIDATION_FAILED" }) as const;

const human = (more: JsonObject): JsonObject => ({
  ...{ username: fresh("u").replace(" ", "-"), givenName: "Ada", familyName: "Byron", email: "ada@example.com" },
  ...more,
});
/** A login name that every instance has. */
const username = "Admin";
/** A password that only lacks a digit. */
const withoutDigit = "Kettle-Green-Boat";
const long = "x".repeat(201);

const [creates, createsMachine, createsMany] = ["CreateHumanUser", "CreateMachineUser", "CreateUsers"].map(
  (rpc) => `UserService.${rpc}`,
) as [string, string, string];
const grants = "UserGrantService.AddUserGrants";
const application = "ApplicationService.CreateOidcApplication";
const update = "ApplicationService.UpdateOidcApplication";

/** Users with whom everything is wrong that can be, and what is wrong with them. */
const wrongUsers = (stage: Stage, twice = fresh("twice").replace(" ", "-")): JsonObject[] => [
  { human: human({ username, email: "nobody" }) },
  { human: human({ username: "a b", password: withoutDigit }) },
  { human: human({ password: "x".repeat(1001), userId: stage.postern.adminId }) },
  {},
  { machine: { username: twice, name: "One" } },
  { machine: { username: twice.toUpperCase(), name: "Two" } },
];
const wrongByThemselves = ["items[0].human.email", "items[1].human.username", "items[2].human.password", "items[3]"];
const wrongByTheDatabase = [
  ...["items[0].human.username", "items[1].human.password", "items[2].human.userId", "items[5].machine.username"],
];

const wrongGrants = ({ fixture, granted }: Stage): JsonObject[] => [
  { userId: long, projectId: fixture.projectId, roleKeys: ["viewer", "ghost"] },
  { userId: fixture.userId, projectId: long, roleKeys: ["ghost"] },
  { userId: fixture.userId, projectId: fixture.projectId, roleKeys: ["ghost", ""] },
  { userId: "nobody", projectId: fixture.projectId },
  { userId: long, projectId: granted.projectId },
];
const wrongGrantFields = ["items[0].userId", "items[1].projectId", "items[2].roleKeys[1]", "items[4].userId"];

const noFlow = { grantTypes: ["OIDC_GRANT_TYPE_IMPLICIT"] };

async function namedApplication({ admin, fixture }: Stage, name: string) {
  const projectId = await fixture.newProject();
  const clientId = newId();
  const body = { name, clientId };
  await made(admin, `/v1/projects/${projectId}/applications/oidc`, body, within(fixture.organizationId));
  return { projectId, clientId };
}

async function otherApplication(stage: Stage) {
  const { projectId } = await namedApplication(stage, "Shop");
  const path = `/v1/projects/${projectId}/applications/oidc`;
  const { appId } = await made(stage.admin, path, { name: "Other" }, within(stage.fixture.organizationId));
  return { projectId, appId };
}

/** Names and ids that others have, and items of batches, beside whatever else is wrong. */
export const takenScenes: readonly Scene[] = [
  scene(
    { rpc: creates, name: "a name that is taken, and a weak password", says: "LOGIN_NAME_TAKEN" },
    ["username", "password"],
    {
      request: human({ username, password: withoutDigit }),
    },
  ),
  scene(wrong(creates, "a name that is taken beside others that are wrong"), ["email", "username", "password"], {
    request: human({ username, email: "nobody", password: withoutDigit }),
  }),
  scene(wrong(creates, "whoever may not create learns no name"), ["email"], {
    ...{ by: "viewer", request: human({ username, email: "nobody" }) },
  }),
  scene(wrong(createsMachine, "name and id taken beside a missing name"), ["name", "username", "userId"], {
    request: async ({ postern }) => ({ username, userId: postern.adminId }),
  }),
  scene(wrong(createsMany, "all or nothing"), [...wrongByThemselves, ...wrongByTheDatabase], {
    request: async (stage) => ({ items: wrongUsers(stage), allOrNothing: true }),
  }),
  scene({ rpc: createsMany, name: "malformed, with an outcome for each", says: "OK" }, [], {
    request: async (stage) => ({ items: wrongUsers(stage) }),
  }),
  scene(
    wrong(grants, "all or nothing"),
    [...wrongGrantFields, "items[0].roleKeys[1]", "items[3].userId", "items[4].projectGrantId"],
    { request: async (stage) => ({ items: wrongGrants(stage), allOrNothing: true }) },
  ),
  scene({ rpc: grants, name: "malformed, with an outcome for each", says: "OK" }, [], {
    request: async (stage) => ({ items: wrongGrants(stage) }),
  }),
  scene(wrong(grants, "whoever may not grant learns no role"), wrongGrantFields, {
    ...{ by: "viewer", request: async (stage) => ({ items: wrongGrants(stage), allOrNothing: true }) },
  }),
  scene(wrong("ProjectService.AddProjectRole", "a key that is taken"), ["displayName", "key"], {
    request: async ({ fixture }) => ({ projectId: fixture.projectId, key: "viewer", displayName: long }),
  }),
  scene({ rpc: application, name: "name and client id taken", says: "APPLICATION_NAME_TAKEN" }, ["name", "clientId"], {
    request: async (stage) => ({ ...(await namedApplication(stage, "Shop")), name: "Shop" }),
  }),
  scene(wrong(application, "name and client id taken beside an origin"), ["additionalOrigins[0]", "name", "clientId"], {
    request: async (stage) => ({
      ...{ ...(await namedApplication(stage, "Shop")), name: "Shop", additionalOrigins: ["shop"] },
    }),
  }),
  scene(
    wrong(update, "a name that is taken, and grant types that do not fit, beside an origin"),
    ["application.additionalOrigins[0]", "application.name", "application.responseTypes[0]"],
    {
      request: async (stage) => ({
        ...(await otherApplication(stage)),
        application: { name: "Shop", ...noFlow, additionalOrigins: ["shop"] },
      }),
    },
  ),
  scene(
    wrong(update, "a name that is taken, and grant types that do not fit"),
    ["application.name", "application.responseTypes[0]"],
    { request: async (stage) => ({ ...(await otherApplication(stage)), application: { name: "Shop", ...noFlow } }) },
  ),
  scene({ rpc: update, name: "a name that is taken", says: "APPLICATION_NAME_TAKEN" }, ["application.name"], {
    request: async (stage) => ({ ...(await otherApplication(stage)), application: { name: "Shop" } }),
  }),
  scene(
    wrong(update, "grant types that do not fit beside a name"),
    ["application.name", "application.responseTypes[0]"],
    {
      request: async (stage) => ({ ...(await otherApplication(stage)), application: { name: long, ...noFlow } }),
    },
  ),
];
