import type { JsonObject } from "@bufbuild/protobuf";
import { newJwk } from "../fixture/jwk.ts";
import { machine } from "../harness.ts";
import { made, type Scene, type Stage, within } from "./stage.ts";

const scenesOf =
  (rpc: string) =>
  (name: string, says: Scene["says"], given: Scene["given"], extras: Pick<Scene, "fields"> = {}): Scene => ({
    ...{ rpc, name, says, given },
    ...extras,
  });

const creation = scenesOf("ApplicationService.CreateOidcApplication");
const update = scenesOf("ApplicationService.UpdateOidcApplication");
const rotation = scenesOf("ApplicationService.RotateClientSecret");
const key = scenesOf("ApplicationService.AddApplicationKey");
const project = scenesOf("ProjectService.CreateProject");
const projectUpdate = scenesOf("ProjectService.UpdateProject");

/** An ORG_OWNER of the organization of the stage. */
async function owner({ postern, fixture, admin }: Stage) {
  const { userId, client } = await machine(postern, fixture);
  await made(admin, "/v1/members", { userId, roles: ["ORG_OWNER"] }, within(fixture.organizationId));
  return client;
}

/** A call about a new application, marked as first-party unless the settings say otherwise, by an ORG_OWNER where asked for. */
const about =
  (request: JsonObject, { isOwner = false, firstParty = true } = {}): Scene["given"] =>
  async (stage) => {
    const headers = within(stage.fixture.organizationId);
    const projectId = await stage.fixture.newProject();
    const path = `/v1/projects/${projectId}/applications`;
    const { appId } = await made(stage.admin, `${path}/oidc`, { name: "Console", firstParty }, headers);
    const see = async () => (await stage.admin.get(`${path}/${appId}`, headers)).body;
    return { request: { projectId, appId, ...request }, ...(isOwner ? { by: await owner(stage) } : {}), see };
  };

const byOwner = { isOwner: true };
const redirect = { application: { redirectUris: ["https://elsewhere.example/cb"] } };

const created =
  (isOwner: boolean): Scene["given"] =>
  async (stage) => {
    const projectId = await stage.fixture.newProject();
    const by = isOwner ? { by: await owner(stage) } : {};
    return { request: { projectId, name: "Console", firstParty: true }, ...by };
  };

/** The first-party mark of an application, and what a project wants of those who sign in. */
export const firstPartyScenes: readonly Scene[] = [
  creation("a first-party application", "OK", created(false)),
  creation("a first-party application, by an owner of the organization", "PERMISSION_DENIED", created(true), {
    fields: ["firstParty"],
  }),
  update("the first-party mark", "OK", about({ application: { firstParty: true } }, { firstParty: false })),
  update("the end of the first-party mark", "OK", about({ application: {}, updateMask: "firstParty" })),
  update(
    "the first-party mark, by an owner of the organization",
    "PERMISSION_DENIED",
    about({ application: { firstParty: true } }, { isOwner: true, firstParty: false }),
    { fields: ["application.firstParty"] },
  ),
  update(
    "the end of the first-party mark, by an owner of the organization",
    "PERMISSION_DENIED",
    about({ application: {}, updateMask: "firstParty" }, byOwner),
    { fields: ["application.firstParty"] },
  ),
  update(
    "redirect URIs of a first-party application, by an owner of the organization",
    "PERMISSION_DENIED",
    about(redirect, byOwner),
  ),
  update("redirect URIs of a first-party application", "OK", about(redirect)),
  update(
    "redirect URIs of another application, by an owner of the organization",
    "OK",
    about(redirect, { isOwner: true, firstParty: false }),
  ),
  rotation("of a first-party application, by an owner of the organization", "PERMISSION_DENIED", about({}, byOwner)),
  rotation("of a first-party application", "OK", about({})),
  key(
    "to a first-party application, by an owner of the organization",
    "PERMISSION_DENIED",
    about({ publicKey: newJwk("one") }, byOwner),
  ),
  project("that requires a grant", "OK", async ({ fixture }) => ({
    request: { name: `Strict ${fixture.projectId} ${Math.random()}`, grantRequired: true },
  })),
  projectUpdate("requires a grant, and keeps its name", "OK", async ({ fixture, admin }) => {
    const projectId = await fixture.newProject();
    const headers = within(fixture.organizationId);
    const see = async () => {
      const { grantRequired, details } = (await admin.get(`/v1/projects/${projectId}`, headers)).body.project;
      return { grantRequired, sequence: details.sequence };
    };
    return { request: { projectId, project: { grantRequired: true } }, see };
  }),
  projectUpdate("requires no grant, as before", "OK", async ({ fixture }) => ({
    request: { projectId: await fixture.newProject(), project: {}, updateMask: "grantRequired" },
  })),
];
