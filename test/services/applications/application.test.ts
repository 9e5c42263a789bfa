import { createHash, randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorText, text } from "../../../src/messages/catalogue.ts";
import { type Answer, organization, type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
let sql: postgres.Sql;
let projectId: string;

beforeAll(async () => {
  postern = await sharedPostern();
  const url = new URL(postern.databaseUrl);
  const host = url.searchParams.get("host") ?? url.hostname;
  sql = postgres({ host, user: url.username, database: url.pathname.slice(1), max: 1 });
  projectId = await newProject();
});
afterAll(async () => {
  await sql.end();
  await postern[Symbol.asyncDispose]();
});

async function newProject(headers = {}): Promise<string> {
  const { body } = await postern.admin.post("/v1/projects", { name: `Project ${randomUUID()}` }, headers);
  return body.projectId;
}

const pathOf = (project: string) => `/v1/projects/${project}/applications`;
const createIn = (project: string, body: object, headers = {}) =>
  postern.admin.post(`${pathOf(project)}/oidc`, { name: `App ${randomUUID()}`, ...body }, headers);
const create = (body: object, headers = {}) => createIn(projectId, body, headers);
const get = (appId: string, headers = {}) => postern.admin.get(`${pathOf(projectId)}/${appId}`, headers);

const grant = (name: string) => `OIDC_GRANT_TYPE_${name}`;
const response = (name: string) => `OIDC_RESPONSE_TYPE_${name}`;
const method = (name: string) => `OIDC_AUTH_METHOD_TYPE_${name}`;

type Detail = { reason?: string; fieldViolations?: { field: string; description: string; reason: string }[] };
type Info = { reason: string; metadata: Record<string, string> };

const infoOf = ({ body }: Answer): Info => body.details.find((detail: Detail) => detail.reason !== undefined);
const violationsOf = ({ body }: Answer) =>
  (body.details as Detail[]).flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
const problemsOf = ({ complianceProblems }: { complianceProblems: { key: string }[] }) =>
  complianceProblems.map(({ key }) => key);
const secretsOf = (appId: string) => sql<{ hash: string; expirationDate: Date | null }[]>`
  select encode(hash, 'hex') as hash, expiration_date as "expirationDate" from client_secrets
  where app_id = ${appId} order by expiration_date nulls last`;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("an application with a name and a redirect URI is a confidential web client with the code flow", async () => {
  const { status, body } = await create({ name: "  Portal ", redirectUris: ["https://portal.example/cb"] });
  expect(status).toBe(200);
  expect(body).toEqual({
    appId: expect.stringMatching(/^[0-9a-z]{24}$/),
    clientId: expect.stringMatching(/^[0-9a-z]{24}$/),
    clientSecret: expect.stringMatching(/^cs_[0-9A-Za-z]{33}$/),
    details: {
      sequence: "1",
      creationDate: expect.any(String),
      changeDate: body.details.creationDate,
      resourceOwner: postern.organizationId,
    },
    noneCompliant: false,
    complianceProblems: [],
  });
  const read = await get(body.appId);
  expect(read.body.application).toEqual({
    id: body.appId,
    details: body.details,
    projectId,
    name: "Portal",
    clientId: body.clientId,
    noneCompliant: false,
    complianceProblems: [],
    state: "APPLICATION_STATE_ACTIVE",
    bringsDocument: false,
    oidc: {
      redirectUris: ["https://portal.example/cb"],
      responseTypes: [response("CODE")],
      grantTypes: [grant("AUTHORIZATION_CODE")],
      appType: "OIDC_APP_TYPE_WEB",
      authMethodType: method("BASIC"),
      postLogoutRedirectUris: [],
      version: "OIDC_VERSION_1_0",
      devMode: false,
      accessTokenType: "OIDC_TOKEN_TYPE_BEARER",
      accessTokenRoleAssertion: false,
      idTokenRoleAssertion: false,
      idTokenUserinfoAssertion: false,
      additionalOrigins: [],
      skipNativeAppSuccessPage: false,
      idTokenAlgorithm: "OIDC_ID_TOKEN_ALGORITHM_RS256",
      firstParty: false,
      declaredClaims: [],
      backChannelLogoutUri: "",
      requirePushedAuthorizationRequests: false,
      dpopBoundAccessTokens: false,
    },
  });
});

test("every field is kept as it was given", async () => {
  const oidc = {
    redirectUris: ["com.example.app:/cb", "http://127.0.0.1:7000/cb"],
    responseTypes: [response("ID_TOKEN"), response("CODE"), response("ID_TOKEN_TOKEN")],
    grantTypes: ["REFRESH_TOKEN", "IMPLICIT", "DEVICE_CODE", "AUTHORIZATION_CODE"].map(grant),
    appType: "OIDC_APP_TYPE_NATIVE",
    authMethodType: method("PRIVATE_KEY_JWT"),
    postLogoutRedirectUris: ["com.example.app:/bye"],
    version: "OIDC_VERSION_1_0",
    devMode: true,
    accessTokenType: "OIDC_TOKEN_TYPE_JWT",
    accessTokenRoleAssertion: true,
    idTokenRoleAssertion: true,
    idTokenUserinfoAssertion: true,
    clockSkew: "1.500s",
    accessTokenLifetime: "300s",
    idTokenLifetime: "86400s",
    refreshTokenIdleLifetime: "60s",
    refreshTokenLifetime: "31622400s",
    additionalOrigins: ["https://app.example:8443", "capacitor://localhost"],
    skipNativeAppSuccessPage: true,
    idTokenAlgorithm: "OIDC_ID_TOKEN_ALGORITHM_ES256",
    firstParty: true,
    declaredClaims: [{ name: "desk", userMetadata: "desk", places: ["CLAIM_PLACE_USERINFO"] }],
    backChannelLogoutUri: "https://app.example/logout?tenant=1",
    requirePushedAuthorizationRequests: true,
    dpopBoundAccessTokens: true,
  };
  const { body } = await create(oidc);
  expect((await get(body.appId)).body.application.oidc).toEqual(oidc);
});

test("only BASIC and POST have a client secret, stored as its SHA-256 and in no event", async () => {
  for (const [name, has] of Object.entries({ BASIC: true, POST: true, NONE: false, PRIVATE_KEY_JWT: false })) {
    const { body } = await create({ authMethodType: method(name) });
    expect("clientSecret" in body, name).toBe(has);
    const stored = await secretsOf(body.appId);
    expect(stored, name).toEqual(has ? [{ hash: sha256(body.clientSecret), expirationDate: null }] : []);
    const [{ payload }] = await sql<[{ payload: object }]>`select payload from events where stream = ${body.appId}`;
    for (const hidden of stored.flatMap(({ hash }) => [hash, body.clientSecret]))
      expect(JSON.stringify(payload)).not.toContain(hidden);
    expect(JSON.stringify((await get(body.appId)).body), name).not.toContain("ecret");
  }
});

test("response types must be covered by grant types, and what is left out is what OIDC means by it", async () => {
  const refused: [string[], string[], string[]][] = [
    [["CODE"], ["IMPLICIT"], ["responseTypes[0]"]],
    [["CODE"], ["REFRESH_TOKEN"], ["responseTypes[0]"]],
    [["CODE"], ["DEVICE_CODE", "IMPLICIT"], ["responseTypes[0]"]],
    [["ID_TOKEN"], ["AUTHORIZATION_CODE"], ["responseTypes[0]"]],
    [["CODE", "ID_TOKEN_TOKEN"], ["AUTHORIZATION_CODE"], ["responseTypes[1]"]],
    [["CODE", "ID_TOKEN", "ID_TOKEN_TOKEN"], ["DEVICE_CODE"], ["responseTypes[1]", "responseTypes[2]"]],
    [[], ["DEVICE_CODE", "IMPLICIT"], ["grantTypes[1]"]],
  ];
  for (const [responses, grants, fields] of refused) {
    const answer = await create({ responseTypes: responses.map(response), grantTypes: grants.map(grant) });
    expect([answer.status, answer.body.code, violationsOf(answer)], `${responses} ${grants}`).toEqual([400, 3, fields]);
  }
  const stored: [string[], string[], string[], string[]][] = [
    [[], [], ["CODE"], ["AUTHORIZATION_CODE"]],
    [[], ["AUTHORIZATION_CODE", "REFRESH_TOKEN"], ["CODE"], ["AUTHORIZATION_CODE", "REFRESH_TOKEN"]],
    [[], ["DEVICE_CODE"], [], ["DEVICE_CODE"]],
    [[], ["DEVICE_CODE", "REFRESH_TOKEN"], [], ["DEVICE_CODE", "REFRESH_TOKEN"]],
    [["CODE"], [], ["CODE"], ["AUTHORIZATION_CODE"]],
    [["ID_TOKEN"], [], ["ID_TOKEN"], ["IMPLICIT"]],
    [["ID_TOKEN_TOKEN"], [], ["ID_TOKEN_TOKEN"], ["IMPLICIT"]],
    [
      ["ID_TOKEN_TOKEN", "CODE", "ID_TOKEN"],
      [],
      ["ID_TOKEN_TOKEN", "CODE", "ID_TOKEN"],
      ["AUTHORIZATION_CODE", "IMPLICIT"],
    ],
    [["CODE"], ["DEVICE_CODE"], ["CODE"], ["DEVICE_CODE"]],
    [["CODE"], ["REFRESH_TOKEN", "DEVICE_CODE"], ["CODE"], ["REFRESH_TOKEN", "DEVICE_CODE"]],
    [["ID_TOKEN"], ["IMPLICIT"], ["ID_TOKEN"], ["IMPLICIT"]],
    [["CODE"], ["AUTHORIZATION_CODE", "IMPLICIT"], ["CODE"], ["AUTHORIZATION_CODE", "IMPLICIT"]],
  ];
  for (const [responses, grants, responseTypes, grantTypes] of stored) {
    const { body } = await create({ responseTypes: responses.map(response), grantTypes: grants.map(grant) });
    const { oidc } = (await get(body.appId)).body.application;
    expect(oidc.responseTypes, `${responses} ${grants}`).toEqual(responseTypes.map(response));
    expect(oidc.grantTypes, `${responses} ${grants}`).toEqual(grantTypes.map(grant));
  }
});

test("every malformed origin is refused by its index, together with the flow that does not fit", async () => {
  const additionalOrigins = [
    "https://a.example",
    "https://a.example/x",
    "https://u@a.example",
    "a.example",
    "http://[::1]:80",
  ];
  const flow = { responseTypes: [response("ID_TOKEN")], grantTypes: [grant("AUTHORIZATION_CODE")] };
  const answer = await create({ additionalOrigins, ...flow });
  expect(answer.status).toBe(400);
  expect(infoOf(answer).reason).toBe("VALIDATION_FAILED");
  const [violations] = (answer.body.details as Detail[]).flatMap(({ fieldViolations }) =>
    fieldViolations ? [fieldViolations] : [],
  );
  expect(violations?.map(({ field, description }) => [field, description])).toEqual([
    ["responseTypes[0]", errorText("FLOW_NEEDS_GRANT", { grant: "IMPLICIT" })],
    ["additionalOrigins[1]", errorText("ORIGIN_PATH")],
    ["additionalOrigins[2]", errorText("ORIGIN_USER")],
    ["additionalOrigins[3]", errorText("ORIGIN_NO_SCHEME")],
  ]);
});

test("origins are stored as browsers send them, each once", async () => {
  const sent = {
    "HTTPS://App.Example:443": "https://app.example",
    "https://app.example": "https://app.example",
    "http://app.example:0080": "http://app.example",
    "http://app.example:08443": "http://app.example:8443",
    "http://app.example:443": "http://app.example:443",
    "https://BÜCHER.example": "https://xn--bcher-kva.example",
    "https://xn--bcher-kva.example:443": "https://xn--bcher-kva.example",
    "http://127.1:8080": "http://127.0.0.1:8080",
    "http://[::FFFF:1.2.3.4]": "http://[::ffff:102:304]",
    "Capacitor://LocalHost": "capacitor://localhost",
    "capacitor://localhost:80": "capacitor://localhost:80",
  };
  const { body } = await create({ additionalOrigins: Object.keys(sent) });
  const { oidc } = (await get(body.appId)).body.application;
  expect(oidc.additionalOrigins).toEqual([...new Set(Object.values(sent))]);
});

test("bounds and enums are refused naming the field", async () => {
  const rows: [object, string][] = [
    [{ name: "" }, "name"],
    [{ name: "   " }, "name"],
    [{ name: "é".repeat(201) }, "name"],
    [{ redirectUris: ["https://a.example", ""] }, "redirectUris[1]"],
    [{ grantTypes: [0, 77] }, "grantTypes[1]"],
    [{ responseTypes: [77] }, "responseTypes[0]"],
    [{ appType: 77 }, "appType"],
    [{ authMethodType: "TYPO" }, "authMethodType"],
    [{ clockSkew: "-1s" }, "clockSkew"],
    [{ clockSkew: "3600.000000001s" }, "clockSkew"],
    [{ clockSkew: "315576000000s" }, "clockSkew"],
    [{ accessTokenLifetime: "0s" }, "accessTokenLifetime"],
    [{ accessTokenLifetime: "86401s" }, "accessTokenLifetime"],
    [{ idTokenLifetime: "59s" }, "idTokenLifetime"],
    [{ idTokenLifetime: "300.5s" }, "idTokenLifetime"],
    [{ refreshTokenIdleLifetime: "-60s" }, "refreshTokenIdleLifetime"],
    [{ refreshTokenLifetime: "31622401s" }, "refreshTokenLifetime"],
  ];
  for (const [body, field] of rows) {
    const answer = await create(body);
    expect([answer.status, ...violationsOf(answer)], JSON.stringify(body)).toEqual([400, field]);
  }
  expect((await create({ name: "é".repeat(200) })).status).toBe(200);
  expect((await create({ clockSkew: "3600s" })).status).toBe(200);
});

test("compliance problems never block the creation, and are the same when read", async () => {
  const { status, body } = await create({
    appType: "OIDC_APP_TYPE_USER_AGENT",
    redirectUris: ["http://a.example", "x:y"],
  });
  expect(status).toBe(200);
  expect(body.noneCompliant).toBe(true);
  const keys = ["HTTP_ON_USER_AGENT", "CUSTOM_SCHEME_ON_USER_AGENT", "USER_AGENT_WITH_AUTH_METHOD"];
  expect(problemsOf(body)).toEqual(keys);
  const read = (await get(body.appId)).body.application;
  expect([read.noneCompliant, read.complianceProblems]).toEqual([true, body.complianceProblems]);
  const listed = await postern.admin.get(`${pathOf(projectId)}?pageSize=1000`);
  const same = listed.body.applications.find(({ id }: { id: string }) => id === body.appId);
  expect(same).toEqual(read);
});

test("compliance problems speak the caller's language, English when it asks for none of ours", async () => {
  const { body } = await create({ redirectUris: ["app:/cb"] });
  const languages = { de: "de", "fr-CH, en;q=0.5": "fr", es: "es", "ja, nl": "en", "": "en" } as const;
  for (const [asked, language] of Object.entries(languages)) {
    const { application } = (await get(body.appId, { "accept-language": asked })).body;
    const [{ key, localizedMessage }] = application.complianceProblems;
    expect(localizedMessage, asked).toBe(text(key, language, { uris: "app:/cb (redirectUris[0])" }));
  }
});

test("validateOnly answers the report and creates nothing", async () => {
  const project = await newProject();
  const name = "Only looked at";
  const { status, body } = await createIn(project, { name, validateOnly: true, redirectUris: ["/cb"] });
  expect(status).toBe(200);
  expect(body).toEqual({
    appId: "",
    clientId: "",
    noneCompliant: true,
    complianceProblems: [{ key: "REDIRECT_URI_RELATIVE", localizedMessage: expect.stringContaining("/cb") }],
  });
  expect((await postern.admin.get(pathOf(project))).body).toEqual({ applications: [], nextPageToken: "" });
  expect((await createIn(project, { name })).status).toBe(200);
  expect((await createIn(project, { name, validateOnly: true })).status).toBe(409);
  expect((await createIn("nowhere", { name, validateOnly: true })).status).toBe(404);
  expect((await createIn(project, { validateOnly: true, additionalOrigins: ["x"] })).status).toBe(400);
});

test("a name is taken once in a project, and the refusal says by whom", async () => {
  const made = await create({ name: "Taken" });
  const again = await create({ name: " Taken " });
  expect([again.status, again.body.code]).toEqual([409, 6]);
  const { reason, metadata } = infoOf(again);
  expect([reason, metadata]).toEqual(["APPLICATION_NAME_TAKEN", { name: "Taken", appId: made.body.appId }]);
  expect((await createIn(await newProject(), { name: "Taken" })).status).toBe(200);
});

test("of many that ask for a name at once one gets it, and the others learn its id", async () => {
  const project = await newProject();
  const answers = await Promise.all(Array.from({ length: 20 }, () => createIn(project, { name: "Raced" })));
  const made = answers.filter(({ status }) => status === 200);
  expect(made).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect([answer.status, infoOf(answer).metadata.appId]).toEqual([409, made[0]?.body.appId]);
});

test("applications of a project belong to its owner alone: for anybody else the project is not there", async () => {
  const other = await organization(postern);
  const inOther = { "x-service-orgid": other };
  const { body } = await create({});
  const granted = await postern.admin.post(`/v1/projects/${projectId}/grants`, { grantedOrganizationId: other });
  expect(granted.status).toBe(200);
  const path = `${pathOf(projectId)}/${body.appId}`;
  const answers = await Promise.all([
    create({}, inOther),
    postern.admin.get(path, inOther),
    postern.admin.get(pathOf(projectId), inOther),
    postern.admin.post(`${path}:rotateClientSecret`, {}, inOther),
    postern.admin.delete(path, inOther),
    createIn("nowhere", {}),
  ]);
  for (const answer of answers) expect([answer.status, infoOf(answer).reason]).toEqual([404, "PROJECT_NOT_FOUND"]);

  const elsewhere = await postern.admin.get(`${pathOf(await newProject())}/${body.appId}`);
  expect([elsewhere.status, infoOf(elsewhere).reason]).toEqual([404, "APPLICATION_NOT_FOUND"]);
  const owned = await createIn(await newProject(inOther), {}, inOther);
  expect(owned.body.details.resourceOwner).toBe(other);
});

test("applications are listed by name, page after page, each once", async () => {
  const project = await newProject();
  const names = Array.from({ length: 11 }, (_, at) => `N ${String(at).padStart(2, "0")}`);
  await Promise.all(names.toReversed().map((name) => createIn(project, { name })));
  const seen: string[] = [];
  let token = "";
  do {
    const { body } = await postern.admin.get(`${pathOf(project)}?pageSize=4&pageToken=${token}`);
    seen.push(...body.applications.map(({ name }: { name: string }) => name));
    token = body.nextPageToken;
  } while (token);
  expect(seen).toEqual(names);
  const forged = await postern.admin.get(`${pathOf(project)}?pageToken=forged`);
  expect([forged.status, infoOf(forged).reason]).toEqual([400, "PAGE_TOKEN_INVALID"]);
});

const rotate = (appId: string, body = {}) =>
  postern.admin.post(`${pathOf(projectId)}/${appId}:rotateClientSecret`, body);

test("a rotated secret lives on for the overlap beside the new one, and those before it end", async () => {
  const { appId, clientSecret } = (await create({})).body;
  const second = (await rotate(appId, { overlap: "3600s" })).body;
  expect(second.details.sequence).toBe("2");
  const ends = new Date(second.previousSecretExpirationDate);
  expect(ends.getTime() - new Date(second.details.changeDate).getTime()).toBe(3_600_000);
  expect(await secretsOf(appId)).toEqual([
    { hash: sha256(clientSecret), expirationDate: ends },
    { hash: sha256(second.clientSecret), expirationDate: null },
  ]);

  const third = (await rotate(appId, { overlap: "60s" })).body;
  const left = (await secretsOf(appId)).map(({ hash }) => hash);
  expect(left).toEqual([sha256(second.clientSecret), sha256(third.clientSecret)]);

  const last = (await rotate(appId)).body;
  expect(last.previousSecretExpirationDate).toBe(last.details.changeDate);
  expect(await secretsOf(appId)).toEqual([{ hash: sha256(last.clientSecret), expirationDate: null }]);
});

test("an application says when the replaced secret expires, until it has", async () => {
  const { appId } = (await create({})).body;
  const shown = async () => {
    const { application } = (await postern.admin.get(`${pathOf(projectId)}/${appId}`)).body;
    const { applications } = (await postern.admin.get(pathOf(projectId))).body;
    const listed = applications.find(({ id }: { id: string }) => id === appId);
    expect(listed.previousSecretExpirationDate).toBe(application.previousSecretExpirationDate);
    return application.previousSecretExpirationDate;
  };
  expect(await shown()).toBeUndefined();
  const { previousSecretExpirationDate } = (await rotate(appId, { overlap: "3600s" })).body;
  expect(await shown()).toBe(previousSecretExpirationDate);
  await rotate(appId);
  expect(await shown()).toBeUndefined();
});

test("rotations at the same time all count, and leave one secret in force", async () => {
  const { appId } = (await create({})).body;
  const answers = await Promise.all(Array.from({ length: 4 }, () => rotate(appId, { overlap: "60s" })));
  expect(answers.map(({ body }) => body.details.sequence).sort()).toEqual(["2", "3", "4", "5"]);
  const last = answers.find(({ body }) => body.details.sequence === "5");
  const stored = await secretsOf(appId);
  expect(stored).toHaveLength(2);
  expect(stored[1]).toEqual({ hash: sha256(last?.body.clientSecret), expirationDate: null });
});

test("an application without a secret has none to rotate, and an overlap has its bounds", async () => {
  for (const name of ["NONE", "PRIVATE_KEY_JWT"]) {
    const answer = await rotate((await create({ authMethodType: method(name) })).body.appId);
    expect([answer.status, infoOf(answer).reason], name).toEqual([400, "CLIENT_SECRET_MISSING"]);
  }
  const { appId } = (await create({})).body;
  for (const overlap of ["-1s", "2592001s"])
    expect(violationsOf(await rotate(appId, { overlap })), overlap).toEqual(["overlap"]);
});

test("a deleted application is gone with its client id and secrets, and its name is free", async () => {
  const { appId, clientId } = (await create({ name: "Short-lived" })).body;
  const deleted = await postern.admin.delete(`${pathOf(projectId)}/${appId}`);
  expect([deleted.status, deleted.body.details.sequence]).toEqual([200, "2"]);
  expect(await secretsOf(appId)).toEqual([]);
  expect(await sql`select 1 from client_ids where client_id = ${clientId}`).toEqual([]);
  for (const answer of [
    await get(appId),
    await rotate(appId),
    await postern.admin.delete(`${pathOf(projectId)}/${appId}`),
  ])
    expect([answer.status, infoOf(answer).reason]).toEqual([404, "APPLICATION_NOT_FOUND"]);
  expect((await create({ name: "Short-lived" })).status).toBe(200);
});

test("a creation repeated with its idempotency key shows the same secret and creates one application", async () => {
  const project = await newProject();
  const headers = { "idempotency-key": randomUUID() };
  const first = await createIn(project, { name: "Once" }, headers);
  const again = await createIn(project, { name: "Once" }, headers);
  expect(first.status).toBe(200);
  expect(again.body).toEqual(first.body);
  const changed = await createIn(project, { name: "Twice" }, headers);
  expect([changed.status, infoOf(changed).reason]).toEqual([400, "IDEMPOTENCY_KEY_REUSED"]);
  expect((await postern.admin.get(pathOf(project))).body.applications).toHaveLength(1);
});
