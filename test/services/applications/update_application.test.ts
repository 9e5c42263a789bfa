import { afterAll, beforeAll, expect, test } from "vitest";
import { unique } from "../../events/log_of.ts";
import { type Answer, type Postern, sharedPostern } from "../../harness.ts";
import { openProbe, type Probe } from "../../probe.ts";

let postern: Postern;
let probe: Probe;
let projectId: string;
beforeAll(async () => {
  postern = await sharedPostern();
  probe = openProbe(postern.databaseUrl);
  projectId = done(await postern.admin.post("/v1/projects", { name: "Shop" })).projectId;
});
afterAll(async () => {
  await probe?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

type Detail = { reason?: string; fieldViolations?: { field: string; description: string }[]; metadata?: object };
const infoOf = ({ body }: Answer): Detail => body.details.find(({ reason }: Detail) => reason !== undefined);
const refused = (answer: Answer) => [answer.status, infoOf(answer).reason];
const wrong = ({ body }: Answer) =>
  body.details.flatMap(({ fieldViolations = [] }: Detail) => fieldViolations.map(({ field }) => field));
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

const applications = () => `/v1/projects/${projectId}/applications`;
const created = async (settings: object = {}) =>
  done(await postern.admin.post(`${applications()}/oidc`, { name: unique("App"), ...settings }));
const read = async (appId: string) => done(await postern.admin.get(`${applications()}/${appId}`)).application;
const update = (appId: string, application: object, query = "") =>
  postern.admin.call("PATCH", `${applications()}/${appId}/oidc${query}`, application);
const method = (name: string) => ({ authMethodType: `OIDC_AUTH_METHOD_TYPE_${name}` });
const keysOf = ({ complianceProblems }: { complianceProblems: { key: string }[] }) =>
  complianceProblems.map(({ key }) => key);
const secretsOf = async (appId: string) =>
  (await probe.sql`select encode(hash, 'hex') as hash from client_secrets where app_id = ${appId}`).map(
    ({ hash }) => hash as string,
  );

test("compliance problems are solved by an update, and the client id and secret stay", async () => {
  const { appId, clientId, noneCompliant } = await created({ redirectUris: ["/cb"], devMode: true });
  expect(noneCompliant).toBe(true);
  const before = await secretsOf(appId);
  const answer = done(await update(appId, { redirectUris: ["https://shop.example/cb"] }));
  expect(answer).toEqual({ details: expect.anything(), noneCompliant: false, complianceProblems: [] });
  expect(answer.details.sequence).toBe("2");
  const application = await read(appId);
  expect(application).toMatchObject({ clientId, noneCompliant: false, details: answer.details });
  expect(application.oidc).toMatchObject({ redirectUris: ["https://shop.example/cb"], devMode: true });
  expect(await secretsOf(appId)).toEqual(before);
});

test("an update that breaks compliance is made, and says what is wrong", async () => {
  const { appId } = await created({ redirectUris: ["https://shop.example/cb"] });
  const answer = done(await update(appId, { redirectUris: [], clockSkew: "60s" }));
  expect(keysOf(answer)).toEqual(["NO_REDIRECT_URIS", "CLOCK_SKEW_TOO_LONG"]);
  expect((await read(appId)).oidc).toMatchObject({ redirectUris: [], clockSkew: "60s" });
});

test("validateOnly says what would be wrong, and changes nothing", async () => {
  const { appId } = await created({ redirectUris: ["https://shop.example/cb"] });
  const before = await read(appId);
  const answer = done(await update(appId, { redirectUris: [], ...method("NONE") }, "?validateOnly=true"));
  expect(keysOf(answer)).toEqual(["NO_REDIRECT_URIS"]);
  expect(answer.details.sequence).toBe("1");
  expect(await read(appId)).toEqual(before);
  expect(await secretsOf(appId)).toHaveLength(1);
});

test("a method with a secret makes one where there was none; a method without ends every secret", async () => {
  const { appId, clientSecret } = await created({ ...method("BASIC") });
  const [first] = await secretsOf(appId);
  expect(done(await update(appId, method("POST"))).clientSecret).toBeUndefined();
  expect(await secretsOf(appId)).toEqual([first]);
  done(await postern.admin.post(`${applications()}/${appId}:rotateClientSecret`, { overlap: "3600s" }));
  expect(await secretsOf(appId)).toHaveLength(2);
  expect(done(await update(appId, method("NONE"))).clientSecret).toBeUndefined();
  expect(await secretsOf(appId)).toEqual([]);
  expect(refused(await postern.admin.post(`${applications()}/${appId}:rotateClientSecret`))).toEqual([
    400,
    "CLIENT_SECRET_MISSING",
  ]);
  const again = done(await update(appId, method("BASIC")));
  expect(again.clientSecret).toMatch(/^cs_/);
  expect(again.clientSecret).not.toBe(clientSecret);
  expect(await secretsOf(appId)).toHaveLength(1);
});

test("a name stays unique in its project, and what is so already makes no event", async () => {
  const [{ appId }, { appId: other }] = [await created(), await created()];
  const { name } = await read(other);
  const taken = await update(appId, { name });
  expect([...refused(taken), infoOf(taken).metadata]).toEqual([409, "APPLICATION_NAME_TAKEN", { name, appId: other }]);
  expect(done(await update(other, { name, devMode: false })).details.sequence).toBe("1");
  expect(refused(await update(other, { name }, "?expectedSequence=2"))).toEqual([409, "CONFLICT"]);
});

test("origins are stored as browsers send them, those that stay as they are", async () => {
  const { appId } = await created({ additionalOrigins: ["https://a.example"] });
  done(await update(appId, { additionalOrigins: ["HTTPS://B.Example:443", "https://b.example"] }));
  done(await update(appId, { devMode: true }));
  expect((await read(appId)).oidc.additionalOrigins).toEqual(["https://b.example"]);
  expect(wrong(await update(appId, { additionalOrigins: ["b.example"] }))).toEqual([
    "application.additionalOrigins[0]",
  ]);
});

test("many updates of different fields at once are all made", async () => {
  const { appId } = await created();
  const changes = [{ devMode: true }, { clockSkew: "2s" }, { redirectUris: ["https://a.example/cb"] }, { appType: 1 }];
  for (const answer of await Promise.all(changes.map((one) => update(appId, one)))) done(answer);
  const { oidc, details } = await read(appId);
  expect(oidc).toMatchObject({ devMode: true, clockSkew: "2s", redirectUris: ["https://a.example/cb"] });
  expect([oidc.appType, details.sequence]).toEqual(["OIDC_APP_TYPE_USER_AGENT", "5"]);
});
