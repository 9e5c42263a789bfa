import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unjudgedApplications } from "../../../src/services/applications/judge_applications.ts";
import { openClient } from "../../fixture/database_client.ts";
import { type Answer, machine, organization, type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** An organization with two projects, which have two applications and one. */
async function shops() {
  const organizationId = await organization(postern);
  const here = { "x-service-orgid": organizationId };
  const made = async (path: string, body: object) => done(await postern.admin.post(path, body, here));
  const project = async (name: string, applications: readonly string[]): Promise<string> => {
    const { projectId } = await made("/v1/projects", { name });
    for (const one of applications) await made(`/v1/projects/${projectId}/applications/api`, { name: one });
    return projectId;
  };
  const shop = await project("Shop", ["Web", "Orders"]);
  const stock = await project("Stock", ["Orders of stock"]);
  return { organizationId, here, shop, stock };
}

type Application = { readonly id: string; readonly name: string; readonly projectId: string };

async function namesOf(query: string, headers: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (let token = ""; ; ) {
    const page = done(await postern.admin.get(`/v1/applications?pageSize=2&pageToken=${token}${query}`, headers));
    found.push(...page.applications.map(({ name }: Application) => name));
    token = page.nextPageToken;
    if (!token) return found;
  }
}

test("the applications of all projects are listed page by page, by name, age, state and the beginning of the name", async () => {
  const { here, shop } = await shops();
  await shops();
  expect(await namesOf("", here)).toEqual(["Orders", "Orders of stock", "Web"]);
  expect(await namesOf("&order=NAME_ORDER_OLDEST", here)).toEqual(["Web", "Orders", "Orders of stock"]);
  expect(await namesOf("&filter.namePrefix=ord&order=NAME_ORDER_DESCENDING", here)).toEqual([
    "Orders of stock",
    "Orders",
  ]);
  expect(await namesOf("&filter.name=web", here)).toEqual(["Web"]);
  const [{ id }] = done(
    await postern.admin.get(`/v1/projects/${shop}/applications?filter.name=web`, here),
  ).applications;
  done(await postern.admin.post(`/v1/projects/${shop}/applications/${id}:deactivate`, {}, here));
  expect(await namesOf("&filter.state=APPLICATION_STATE_INACTIVE", here)).toEqual(["Web"]);
  const { applications } = done(await postern.admin.get("/v1/applications?filter.name=web", here));
  expect(applications).toMatchObject([{ id, projectId: shop, state: "APPLICATION_STATE_INACTIVE" }]);
});

test("what a deleted project had is not listed", async () => {
  const { here, shop } = await shops();
  done(await postern.admin.delete(`/v1/projects/${shop}`, here));
  expect(await namesOf("", here)).toEqual(["Orders of stock"]);
});

test("a search finds applications of all projects by the beginnings of words, also after they are renamed or deleted", async () => {
  const { here, shop, stock } = await shops();
  await shops();
  expect(await namesOf("&filter.search=ord", here)).toEqual(["Orders", "Orders of stock"]);
  expect(await namesOf("&filter.search=sto+ord", here)).toEqual(["Orders of stock"]);
  const { applications } = done(await postern.admin.get("/v1/applications", here));
  const idOf = (wanted: string) => applications.find(({ name }: Application) => name === wanted).id;
  done(
    await postern.admin.call(
      "PATCH",
      `/v1/projects/${stock}/applications/${idOf("Orders of stock")}/api`,
      { name: "Desk" },
      here,
    ),
  );
  done(await postern.admin.delete(`/v1/projects/${shop}/applications/${idOf("Orders")}`, here));
  expect(await namesOf("&filter.search=ord", here)).toEqual([]);
  expect(await namesOf("&filter.search=des", here)).toEqual(["Desk"]);
});

test("lists keep to the applications that comply, or to those that do not, from the write that changes it on", async () => {
  const { here, stock } = await shops();
  const path = `/v1/projects/${stock}/applications`;
  const redirectUris = ["https://app.example.com/callback"];
  const { appId } = done(await postern.admin.post(`${path}/oidc`, { name: "Site" }, here));
  expect(await byCompliance(here)).toEqual({ not: ["Site"], all: ["Orders", "Orders of stock", "Web"] });
  done(await postern.admin.call("PATCH", `${path}/${appId}/oidc`, { redirectUris }, here));
  done(await postern.admin.post(`${path}/${appId}:deactivate`, {}, here));
  expect(await byCompliance(here)).toEqual({ not: [], all: ["Orders", "Orders of stock", "Site", "Web"] });
  const authMethodType = "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT";
  done(await postern.admin.call("PATCH", `${path}/${appId}/oidc`, { authMethodType }, here));
  expect(await byCompliance(here)).toMatchObject({ not: ["Site"] });
  const key = { jwksUri: "https://app.example.com/keys" };
  const { keyId } = done(await postern.admin.post(`${path}/${appId}/keys`, key, here));
  expect(await byCompliance(here)).toMatchObject({ not: [] });
  done(await postern.admin.delete(`${path}/${appId}/keys/${keyId}`, here));
  const inactive = "&filter.compliance=APPLICATION_COMPLIANCE_NOT_COMPLIANT&filter.state=APPLICATION_STATE_INACTIVE";
  expect(await byCompliance(here)).toMatchObject({ not: ["Site"] });
  expect(await namesOf(inactive, here)).toEqual(["Site"]);
  const api = { name: "Keyless", authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" };
  const { appId: apiId } = done(await postern.admin.post(`${path}/api`, api, here));
  expect(await byCompliance(here)).toMatchObject({ not: ["Keyless", "Site"] });
  const basic = { authMethodType: "API_AUTH_METHOD_TYPE_BASIC" };
  done(await postern.admin.call("PATCH", `${path}/${apiId}/api`, basic, here));
  expect(await byCompliance(here)).toMatchObject({ not: ["Site"] });
});

test("what a node of an earlier release wrote is listed right at once, and counted once the sweep has judged it", async () => {
  const { organizationId, here, stock } = await shops();
  done(await postern.admin.post(`/v1/projects/${stock}/applications/oidc`, { name: "Site" }, here));
  await using database = openClient(postern.databaseUrl);
  const sql = database.client;
  await sql`
    update applications set compliance_version = null, compliance_problems = null where owner = ${organizationId}`;
  const expected = { not: ["Site"], all: ["Orders", "Orders of stock", "Web"] };
  const counted = async () => done(await postern.admin.get("/v1/overview", here)).notCompliantApplications.count;
  expect(await byCompliance(here)).toEqual(expected);
  expect(await counted()).toBe(0);
  await unjudgedApplications({ sql }).batch(1_000);
  expect(await byCompliance(here)).toEqual(expected);
  expect(await counted()).toBe(1);
  // A later write by such a node leaves a version behind.
  await sql`update applications set oidc = oidc || '{"redirectUris": ["https://a.example.com"]}', version = version + 1
    where owner = ${organizationId} and name = 'Site'`;
  expect((await byCompliance(here)).not).toEqual([]);
  await unjudgedApplications({ sql }).batch(1_000);
  expect(await counted()).toBe(0);
});

test("what an earlier release has judged is listed by the rules of RFC 9700 after the upgrade", async () => {
  const { organizationId, here, stock } = await shops();
  const responseTypes = ["OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"];
  const weak = {
    Implicit: { responseTypes, redirectUris: ["https://app.example.com/cb"] },
    Plain: { redirectUris: ["https://app.example.com/cb", "http://app.example.com/cb"] },
    Local: { redirectUris: ["http://127.0.0.1:3000/cb", "http://localhost/cb", "http://[::1]/cb"] },
    Device: { redirectUris: ["http://app.example.com/cb"], devMode: true },
  };
  for (const [name, settings] of Object.entries(weak))
    done(await postern.admin.post(`/v1/projects/${stock}/applications/oidc`, { name, ...settings }, here));
  await using database = openClient(postern.databaseUrl);
  const sql = database.client;
  await sql`update applications set compliance_problems = '{}' where owner = ${organizationId}`;
  for (const step of steps) await sql.unsafe(step.replace(":batch", `owner = '${organizationId}'`));
  const stored = await sql`select name, compliance_problems as keys from applications
    where owner = ${organizationId} and compliance_problems <> '{}' order by name`;
  expect([...stored]).toEqual([
    { name: "Implicit", keys: ["IMPLICIT_ACCESS_TOKEN"] },
    { name: "Plain", keys: ["HTTP_ON_CONFIDENTIAL_WEB"] },
  ]);
  const expected = { not: ["Implicit", "Plain"], all: ["Device", "Local", "Orders", "Orders of stock", "Web"] };
  expect(await byCompliance(here)).toEqual(expected);
});

const migration = new URL("../../../src/postgres/migrations/0237-weaker-than-rfc-9700.sql", import.meta.url);
const steps = readFileSync(migration, "utf8")
  .split(/^-- step: .*$/m)
  .slice(1);

async function byCompliance(here: Record<string, string>) {
  const names = (compliance: string) => namesOf(`&filter.compliance=APPLICATION_COMPLIANCE_${compliance}`, here);
  return { not: await names("NOT_COMPLIANT"), all: await names("COMPLIANT") };
}

test("a role on one project is not enough for the list of all", async () => {
  const { organizationId, here, shop } = await shops();
  const { userId, client } = await machine(postern, { organizationId });
  done(await postern.admin.post(`/v1/projects/${shop}/members`, { userId, roles: ["PROJECT_OWNER"] }, here));
  expect((await client.get("/v1/applications")).status).toBe(403);
  const own = done(await client.get(`/v1/projects/${shop}/applications`)).applications;
  expect(own.map(({ name }: Application) => name)).toEqual(["Orders", "Web"]);
});
