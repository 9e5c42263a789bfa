import type { JsonObject } from "@bufbuild/protobuf";
import { fresh, made, malformed, type Scene, type Stage, within } from "./stage.ts";

type Extras = Pick<Scene, "fields" | "not" | "malformed">;

const scene = (name: string, says: Scene["says"], given: Scene["given"], extras: Extras = {}): Scene => ({
  ...{ rpc: "ApplicationService.CreateOidcApplication", name, says, given },
  ...extras,
});

/** A creation in a new project, with a look at its applications afterwards. */
async function creation({ fixture, admin }: Stage, request: JsonObject) {
  const projectId = await fixture.newProject();
  const see = async () =>
    (await admin.get(`/v1/projects/${projectId}/applications`, within(fixture.organizationId))).body;
  return { request: { projectId, name: "Portal", ...request }, see };
}

const creates = (name: string, request: JsonObject) => scene(name, "OK", (stage) => creation(stage, request));
const refuses = (name: string, fields: string[], request: JsonObject) =>
  scene(name, "VALIDATION_FAILED", (stage) => creation(stage, request), { fields });

const redirectUris = ["https://portal.example/cb"];
const every = {
  redirectUris: ["https://portal.example/cb", "http://portal.example/cb#f", "javascript:alert(1)"],
  responseTypes: ["OIDC_RESPONSE_TYPE_CODE", "OIDC_RESPONSE_TYPE_ID_TOKEN"],
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_IMPLICIT", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
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
  additionalOrigins: ["https://portal.example:8443", "app://localhost"],
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
const grant = (name: string) => `OIDC_GRANT_TYPE_${name}`;
const onlyJson = { binary: "the binary format has numbers only, and a newer client's fields are ignored" };

/** Every way in which the creation of an application can end. */
export const applicationScenes: readonly Scene[] = [
  creates("a name and a redirect URI", { redirectUris }),
  creates("a name alone, which is not compliant", {}),
  creates("every field", every),
  creates("enums by number", { authMethodType: 2, appType: 1, grantTypes: [0], responseTypes: [0] }),
  creates("without a secret: NONE", { redirectUris, authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" }),
  creates("without a secret: PRIVATE_KEY_JWT", {
    redirectUris,
    authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
  }),
  creates("the device flow needs no response type", { grantTypes: [grant("DEVICE_CODE")] }),
  creates("the code response type beside the device flow alone", {
    responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
    grantTypes: [grant("DEVICE_CODE")],
  }),
  creates("grant types that follow from the response types", {
    redirectUris,
    responseTypes: ["OIDC_RESPONSE_TYPE_ID_TOKEN", "OIDC_RESPONSE_TYPE_CODE"],
  }),
  creates("origins in other forms than browsers send", {
    additionalOrigins: ["HTTPS://Portal.Example:443", "https://portal.example", "https://bücher.example:08443"],
  }),
  creates("only a report", { ...every, validateOnly: true }),
  creates("a name in Unicode, trimmed", { name: " Zoë 🦊 名前 ", redirectUris }),
  creates("a name of 200 characters outside the first plane", { name: "🦊".repeat(200), redirectUris }),
  refuses("a name of 201 characters outside the first plane", ["name"], { name: "🦊".repeat(201) }),
  refuses("a name of 200 characters with blanks around them", ["name"], { name: ` ${"x".repeat(200)} ` }),
  refuses("a name that nobody sees", ["name"], { name: "\u200b" }),
  refuses("a name of blanks", ["name"], { name: " \u3000 " }),
  refuses("a name that changes its direction", ["name"], { name: "a\u202eb" }),
  refuses("a name with U+0000", ["name"], { name: "a\u0000b" }),
  refuses("enum values that are unknown, by index", ["appType", "authMethodType", "grantTypes[1]"], {
    appType: 99,
    authMethodType: 4,
    grantTypes: [0, 77],
  }),
  refuses("values that are there twice", ["grantTypes"], { grantTypes: [0, 0], responseTypes: [0] }),
  refuses("malformed origins, by index", ["additionalOrigins[1]", "additionalOrigins[2]"], {
    additionalOrigins: ["https://a.example", "https://a.example/path", "a.example"],
  }),
  refuses("a response type that no grant type covers", ["responseTypes[0]"], {
    responseTypes: ["OIDC_RESPONSE_TYPE_ID_TOKEN"],
    grantTypes: [grant("AUTHORIZATION_CODE")],
  }),
  refuses("implicit without a response type", ["grantTypes[0]"], { grantTypes: [grant("IMPLICIT")] }),
  refuses(
    "no name, a flow that is not covered, an origin and a clock skew",
    ["name", "responseTypes[1]", "additionalOrigins[0]", "clockSkew"],
    {
      name: " ",
      responseTypes: ["OIDC_RESPONSE_TYPE_CODE", "OIDC_RESPONSE_TYPE_ID_TOKEN"],
      grantTypes: [grant("AUTHORIZATION_CODE")],
      additionalOrigins: ["https://a.example/path"],
      clockSkew: "-1s",
    },
  ),
  refuses(
    "a grant type that is unknown, so that nobody knows what it covers, and an origin",
    ["grantTypes[0]", "additionalOrigins[0]"],
    { grantTypes: [77], responseTypes: ["OIDC_RESPONSE_TYPE_CODE"], additionalOrigins: ["a.example"] },
  ),
  refuses("an origin that is too long besides", ["additionalOrigins[0]", "name"], {
    name: "",
    additionalOrigins: [`https://a.example/${"x".repeat(2000)}`],
  }),
  scene(
    "a grant type that cannot be read, and an origin",
    "VALIDATION_FAILED",
    async (stage) => {
      const origins = { responseTypes: [0], additionalOrigins: ["a.example"] };
      const given = await creation(stage, origins);
      return { ...given, raw: { json: JSON.stringify({ ...given.request, grantTypes: ["TYPO"] }) } };
    },
    { fields: ["grantTypes[0]", "additionalOrigins[0]"], not: onlyJson, malformed: malformed.fields },
  ),
  refuses("a clock skew below 0", ["clockSkew"], { clockSkew: "-1s" }),
  refuses("a clock skew above an hour", ["clockSkew"], { clockSkew: "3601s" }),
  refuses(
    "lifetimes of tokens that are too short, too long, or no whole seconds",
    ["accessTokenLifetime", "refreshTokenIdleLifetime", "refreshTokenLifetime", "idTokenLifetime"],
    {
      accessTokenLifetime: "59s",
      idTokenLifetime: "60.5s",
      refreshTokenIdleLifetime: "31622401s",
      refreshTokenLifetime: "-1s",
    },
  ),
  creates("problems of a public client that is under development", {
    redirectUris: [
      "http://portal.example/cb",
      "https://ada@portal.example/cb",
      "/cb",
      "/cb",
      "https://portal.example/*#f",
    ],
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
    clockSkew: "3600s",
    devMode: true,
  }),
  creates("problems of a public client on plain http", {
    redirectUris: ["http://portal.example/cb"],
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
  }),
  creates("problems of a native application", {
    redirectUris: ["portal:/cb"],
    appType: "OIDC_APP_TYPE_NATIVE",
    authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
  }),
  refuses("more URIs than there may be, and one that is too long", ["redirectUris", "postLogoutRedirectUris[0]"], {
    redirectUris: Array.from({ length: 101 }, (_, index) => `https://a.example/${index}`),
    postLogoutRedirectUris: [`https://a.example/${"x".repeat(2000)}`],
  }),
  scene(
    "an enum name that is unknown, and a field that is",
    "VALIDATION_FAILED",
    async (stage) => {
      const given = await creation(stage, {});
      return { ...given, raw: { json: JSON.stringify({ ...given.request, authMethodType: "TYPO", nam: "x" }) } };
    },
    { fields: ["authMethodType", "nam"], not: onlyJson, malformed: malformed.fields },
  ),
  scene("compliance problems in Spanish", "OK", async (stage) => ({
    ...(await creation(stage, every)),
    headers: { "accept-language": "es", ...within(stage.fixture.organizationId) },
  })),
  scene("a name that is taken", "APPLICATION_NAME_TAKEN", async (stage) => {
    const given = await creation(stage, {});
    const path = `/v1/projects/${given.request.projectId}/applications/oidc`;
    await made(stage.admin, path, { name: "Portal" }, within(stage.fixture.organizationId));
    return given;
  }),
  scene("in a project that does not exist", "PROJECT_NOT_FOUND", () => ({
    request: { projectId: "none", name: "Portal" },
  })),
  scene("in a project of another organization", "PROJECT_NOT_FOUND", ({ granted }) => ({
    request: { projectId: granted.projectId, name: "Portal" },
  })),
  scene("in an organization that does not exist", "PERMISSION_DENIED", async (stage) => ({
    ...(await creation(stage, {})),
    by: stage.viewer,
    headers: within("no-such-organization"),
  })),
  scene("by who may only read", "PERMISSION_DENIED", async (stage) => ({
    ...(await creation(stage, {})),
    by: stage.viewer,
  })),
  scene("by who may nothing", "PERMISSION_DENIED", async (stage) => ({
    ...(await creation(stage, {})),
    by: stage.stranger,
  })),
  scene("without a token", "UNAUTHENTICATED", async (stage) => ({
    ...(await creation(stage, {})),
    by: stage.postern.as(),
  })),
  scene("a key shows the same secret again, whichever door it was used at first", "OK", async (stage) => {
    const given = await creation(stage, { redirectUris });
    const headers = { ...within(stage.fixture.organizationId), "idempotency-key": fresh("key").replace(" ", "-") };
    const path = `/v1/projects/${given.request.projectId}/applications/oidc`;
    return { ...given, headers, answer: await made(stage.admin, path, given.request, headers) };
  }),
];
