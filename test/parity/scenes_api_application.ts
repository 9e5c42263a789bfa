import type { JsonObject } from "@bufbuild/protobuf";
import { fresh, made, type Scene, type Stage, within } from "./stage.ts";

const scenesOf =
  (rpc: string) =>
  (name: string, says: Scene["says"], given: Scene["given"], extras: Pick<Scene, "fields"> = {}): Scene => ({
    ...{ rpc, name, says, given },
    ...extras,
  });

const creates = scenesOf("ApplicationService.CreateApiApplication");
const updates = scenesOf("ApplicationService.UpdateApiApplication");
const oidc = scenesOf("ApplicationService.UpdateOidcApplication");

const byKey = { authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" };
const hash = "ab".repeat(32);

/** A creation in a new project, with a look at its applications afterwards. */
const creation =
  (request: JsonObject): Scene["given"] =>
  async ({ fixture, admin }) => {
    const projectId = await fixture.newProject();
    const see = async () =>
      (await admin.get(`/v1/projects/${projectId}/applications`, within(fixture.organizationId))).body;
    return { request: { projectId, name: "Orders", ...request }, see };
  };

async function existing({ fixture, admin }: Stage, kind: "api" | "oidc", settings: JsonObject = {}) {
  const projectId = await fixture.newProject();
  const path = `/v1/projects/${projectId}/applications`;
  const headers = within(fixture.organizationId);
  const { appId } = await made(admin, `${path}/${kind}`, { name: "Orders", ...settings }, headers);
  const see = async () => (await admin.get(`${path}/${appId}`, headers)).body;
  return { projectId, appId, see };
}

/** An update of a new API application, with a look at it afterwards. */
const update =
  (request: JsonObject, settings: JsonObject = {}): Scene["given"] =>
  async (stage) => {
    const { projectId, appId, see } = await existing(stage, "api", settings);
    return { request: { projectId, appId, ...request }, see };
  };

const scope = (name: string) => ({ name, texts: { en: "see your orders" } });
// A URI names one API of the instance, and each door makes its own.
const host = () => `https://${fresh("scene").replace(" ", ".")}.example`;
const resourceServer = () => ({ resourceUris: [`${host()}/mcp`], scopes: [scope("orders:read")] });

/** An update of an API that is a resource server already. */
const updateOfServer =
  (request: JsonObject): Scene["given"] =>
  (stage) =>
    update(request, resourceServer())(stage);
const forUpdate = () => ({
  ...{ resourceUris: [`${host()}/mcp`, `${host()}/`], accessTokenType: "OIDC_TOKEN_TYPE_JWT" },
  accessTokenAlgorithm: "ACCESS_TOKEN_ALGORITHM_RS256",
});

/** API applications: what is made, changed and refused. */
export const apiApplicationScenes: readonly Scene[] = [
  creates("a name alone", "OK", creation({})),
  creates("with a secret in the form", "OK", creation({ authMethodType: "API_AUTH_METHOD_TYPE_POST" })),
  creates("with a key, which it lacks still", "OK", creation(byKey)),
  creates("with the hash of a secret from elsewhere", "OK", creation({ clientSecretHash: hash })),
  creates("with a URI that an owner of the instance gives, and scopes", "OK", (stage) =>
    creation(resourceServer())(stage),
  ),
  creates(
    "a URI that names no API, and scopes whose names are ours or there twice",
    "VALIDATION_FAILED",
    creation({ resourceUris: ["http://api.example/"], scopes: [scope("openid"), scope("read"), scope("read")] }),
    { fields: ["resourceUris[0]", "scopes[0].name", "scopes[2].name"] },
  ),
  creates(
    "a URI that another one has",
    "RESOURCE_URI_TAKEN",
    async (stage) => {
      const taken = host();
      await existing(stage, "api", { resourceUris: [`${taken}/`] });
      return creation({ resourceUris: [taken] })(stage);
    },
    { fields: ["resourceUris[0]"] },
  ),
  creates(
    "a secret for who has none, a name that nobody sees, and a client id with a blank",
    "VALIDATION_FAILED",
    creation({ ...byKey, name: " ", clientSecretHash: hash, clientId: "a b" }),
    { fields: ["name", "clientId", "clientSecretHash"] },
  ),
  creates("a method that there is not", "VALIDATION_FAILED", creation({ authMethodType: 3 }), {
    fields: ["authMethodType"],
  }),
  creates("a name that an OIDC application has", "APPLICATION_NAME_TAKEN", async (stage) => {
    const { projectId } = await existing(stage, "oidc");
    return { request: { projectId, name: "Orders" } };
  }),
  creates("in a project that does not exist", "PROJECT_NOT_FOUND", () => ({
    request: { projectId: "none", name: "Orders" },
  })),
  creates("by who may only read", "PERMISSION_DENIED", async (stage) => ({
    ...(await creation({})(stage)),
    by: stage.viewer,
  })),
  updates("a name", "OK", update({ application: { name: "Billing" } })),
  updates("what it has already", "OK", update({ application: { name: "Orders", authMethodType: 0 } })),
  updates("a method without a secret", "OK", update({ application: byKey })),
  updates("a method with a secret, which is new", "OK", update({ application: { authMethodType: 1 } }, byKey)),
  updates("a URI, the format of its tokens and the algorithm", "OK", (stage) =>
    updateOfServer({ application: forUpdate() })(stage),
  ),
  updates("no URI any more", "OK", updateOfServer({ application: {}, updateMask: "resourceUris" })),
  updates("for another sequence", "CONFLICT", update({ application: { name: "Billing" }, expectedSequence: "3" })),
  updates("an empty name", "VALIDATION_FAILED", update({ application: { name: " " } }), {
    fields: ["application.name"],
  }),
  updates("a name that is taken", "APPLICATION_NAME_TAKEN", async (stage) => {
    const { projectId, appId } = await existing(stage, "api");
    const path = `/v1/projects/${projectId}/applications/oidc`;
    await made(stage.admin, path, { name: "Web" }, within(stage.fixture.organizationId));
    return { request: { projectId, appId, application: { name: "Web" } } };
  }),
  updates("that is not there", "APPLICATION_NOT_FOUND", async ({ fixture: { projectId } }) => ({
    request: { projectId, appId: "none", application: { name: "Billing" } },
  })),
  updates("an OIDC application", "APPLICATION_NOT_API", async (stage) => {
    const { projectId, appId } = await existing(stage, "oidc");
    return { request: { projectId, appId, application: { name: "Billing" } } };
  }),
  oidc("an API application", "APPLICATION_NOT_OIDC", async (stage) => {
    const { projectId, appId } = await existing(stage, "api");
    return { request: { projectId, appId, application: { redirectUris: ["https://app.example/cb"] } } };
  }),
];
