import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { machine, organization, type Postern, sharedPostern } from "../../harness.ts";
import type { Answer, Client } from "../../rest_client.ts";

let postern: Postern;
let mine: Tenant;
let other: Tenant;
beforeAll(async () => {
  postern = await sharedPostern();
  [mine, other] = [await tenant(), await tenant()];
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** An organization with a proven domain, a project, and somebody who owns it but not the instance. */
type Tenant = {
  readonly organizationId: string;
  readonly domain: string;
  readonly domainId: string;
  readonly projectId: string;
  readonly owner: Client;
};

const unique = () => randomBytes(4).toString("hex");
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

async function tenant(): Promise<Tenant> {
  const organizationId = await organization(postern);
  const { userId, client } = await machine(postern, { organizationId });
  const domain = `${unique()}.example`;
  await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, inside(organizationId));
  const { domainId } = await prove(domain, organizationId);
  const { projectId } = (await client.post("/v1/projects", { name: unique() })).body;
  return { organizationId, domain, domainId, projectId, owner: client };
}

const prove = async (name: string, organizationId: string) =>
  (await postern.admin.post("/v1/domains", { name, withoutDns: true }, inside(organizationId))).body;

const created = ({ projectId, organizationId }: Tenant, by: Client, more: Record<string, unknown>) =>
  by.post(`/v1/projects/${projectId}/applications/api`, { name: unique(), ...more }, inside(organizationId));

const withUri = (of: Tenant, uri: string, by: Client = of.owner) => created(of, by, { resourceUris: [uri] });

/** What a call was refused for, field by field. */
const faults = ({ body }: Answer): readonly (readonly [string, string])[] => {
  const details: { fieldViolations?: { field: string; reason: string }[] }[] = body.details ?? [];
  return details.flatMap(({ fieldViolations = [] }) =>
    fieldViolations.map(({ field, reason }) => [field, reason] as const),
  );
};

const shown = async ({ projectId, owner }: Tenant, { body }: Answer) =>
  (await owner.get(`/v1/projects/${projectId}/applications/${body.appId}`)).body.application.api;

test("an API has URIs under its organization's domains, and its tokens are signed with ES256 unless it says otherwise", async () => {
  const resourceUris = [`https://${mine.domain}`, `https://api.${mine.domain}:8443/mcp?x=1`];
  const scopes = [
    { name: "invoices:read", role: "reader", texts: { en: "Read your invoices", de: "Rechnungen lesen" } },
  ];
  const made = await created(mine, mine.owner, { resourceUris, scopes, accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  expect(made.status).toBe(200);
  expect(await shown(mine, made)).toEqual({
    ...{ resourceUris, accessTokenType: "OIDC_TOKEN_TYPE_JWT", accessTokenAlgorithm: "ACCESS_TOKEN_ALGORITHM_ES256" },
    scopes: [{ ...scopes[0], texts: { ...scopes[0]?.texts, fr: "", es: "" } }],
    ...{ authMethodType: "API_AUTH_METHOD_TYPE_BASIC", givenResourceUris: [], acceptsClientDocuments: false },
  });
});

test.each([
  ["http://HOST/", "RESOURCE_URI_INVALID"],
  ["https://HOST/#a", "RESOURCE_URI_INVALID"],
  ["https://HOST/#", "RESOURCE_URI_INVALID"],
  ["https://user@HOST/", "RESOURCE_URI_INVALID"],
  ["https://HOST:443/", "RESOURCE_URI_INVALID"],
  ["https://HOST/a/../b", "RESOURCE_URI_INVALID"],
  ["HTTPS://HOST/", "RESOURCE_URI_INVALID"],
  ["https://HOST?x", "RESOURCE_URI_INVALID"],
  ["https:HOST", "RESOURCE_URI_INVALID"],
  ["//HOST/", "RESOURCE_URI_INVALID"],
  ["urn:example:api", "RESOURCE_URI_INVALID"],
  ["https://HOST\\@evil.example/", "RESOURCE_URI_INVALID"],
  ["http://127.0.0.1.HOST/", "RESOURCE_URI_INVALID"],
  ["https://HOST./", "RESOURCE_URI_HOST"],
  ["https://evil-HOST/", "RESOURCE_URI_HOST"],
  ["https://HOST.evil.example/", "RESOURCE_URI_HOST"],
  ["https://example/", "RESOURCE_URI_HOST"],
  ["https://127.0.0.1/", "RESOURCE_URI_HOST"],
  ["http://localhost:9000/mcp", "RESOURCE_URI_HOST"],
  ["http://[::1]:9000/", "RESOURCE_URI_HOST"],
])("an organization cannot claim %s", async (uri, reason) => {
  expect(faults(await withUri(mine, uri.replace("HOST", mine.domain)))).toEqual([["resourceUris[0]", reason]]);
});

test("a host is of the nearest domain that is proven: another tenant's is refused, also below one's own", async () => {
  const below = `sub.${mine.domain}`;
  expect((await withUri(mine, `https://api.${below}/`)).status).toBe(200);
  await prove(below, other.organizationId);
  expect(faults(await withUri(mine, `https://x.${below}/`))).toEqual([["resourceUris[0]", "RESOURCE_URI_HOST"]]);
  expect(faults(await withUri(mine, `https://${other.domain}/`))).toEqual([["resourceUris[0]", "RESOURCE_URI_HOST"]]);
  // What the first one had there before is no longer its own, so it keeps nobody from it.
  expect((await withUri(other, `https://api.${below}/`)).status).toBe(200);
});

const changed = (path: string, body: object) => mine.owner.call("PATCH", path, body);

test("an owner of the instance gives any URI but the issuer's, and it stays when others change the application", async () => {
  const uri = `http://localhost:9${unique().replace(/\D/g, "").slice(0, 3).padEnd(3, "1")}/mcp`;
  const made = await withUri(mine, uri, postern.admin);
  expect((await shown(mine, made)).givenResourceUris).toEqual([uri]);
  const path = `/v1/projects/${mine.projectId}/applications/${made.body.appId}/api`;
  const more = [uri, `https://more.${mine.domain}/`];
  expect((await changed(path, { resourceUris: more })).status).toBe(200);
  expect((await changed(path, { name: unique() })).status).toBe(200);
  expect(await shown(mine, made)).toMatchObject({ resourceUris: more, givenResourceUris: [uri] });
  expect(faults(await withUri(other, uri, postern.admin))).toEqual([["resourceUris[0]", "RESOURCE_URI_TAKEN"]]);
  expect((await changed(path, { resourceUris: [] })).status).toBe(200);
  expect(faults(await changed(path, { resourceUris: [uri] }))).toEqual([
    ["application.resourceUris[0]", "RESOURCE_URI_HOST"],
  ]);
  expect((await withUri(other, uri, postern.admin)).status).toBe(200);
  const { port } = new URL(postern.url);
  for (const issuers of [`http://localhost:${port}`, `http://localhost:${port}/`, `http://localhost:${port}/mcp`])
    expect(faults(await withUri(mine, issuers, postern.admin))).toEqual([["resourceUris[0]", "RESOURCE_URI_ISSUER"]]);
});

test("an owner of the instance who changes something else gives no URI whose domain is lost", async () => {
  const [loser, winner] = [await tenant(), await tenant()];
  const uri = `https://api.${loser.domain}/`;
  const made = await withUri(loser, uri);
  expect((await loser.owner.delete(`/v1/domains/${loser.domainId}`)).status).toBe(200);
  const path = `/v1/projects/${loser.projectId}/applications/${made.body.appId}/api`;
  const byOwner = (body: object) => postern.admin.call("PATCH", path, body, inside(loser.organizationId));
  expect((await byOwner({ name: unique() })).status).toBe(200);
  expect(await shown(loser, made)).toMatchObject({ resourceUris: [uri], givenResourceUris: [] });
  await prove(loser.domain, winner.organizationId);
  expect((await withUri(winner, uri)).status).toBe(200);
});

test("a URI is of one application, which is not named, until that has it no more", async () => {
  const uri = `https://once.${mine.domain}`;
  const first = await withUri(mine, uri);
  const again = await withUri(mine, `${uri}/`);
  expect(faults(again)).toEqual([["resourceUris[0]", "RESOURCE_URI_TAKEN"]]);
  expect(JSON.stringify(again.body)).not.toContain(first.body.appId);
  // Whoever may not have the host is told the same whether the URI is taken or not.
  for (const theirs of [uri, `${uri}/free`])
    expect(faults(await withUri(other, theirs))).toEqual([["resourceUris[0]", "RESOURCE_URI_HOST"]]);
  const twice = await created(mine, mine.owner, {
    resourceUris: [`https://a.${mine.domain}`, `https://a.${mine.domain}/`],
  });
  expect(faults(twice)).toEqual([["resourceUris[1]", "REPEATED"]]);
  const racing = await Promise.all(Array.from({ length: 4 }, () => withUri(mine, `https://race.${mine.domain}/`)));
  expect(racing.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  await mine.owner.delete(`/v1/projects/${mine.projectId}/applications/${first.body.appId}`);
  expect((await withUri(mine, uri)).status).toBe(200);
});

test("scopes have names of their own, each once, and a text in English", async () => {
  const scope = (name: string) => ({ name, texts: { en: "Anything" } });
  const names = ["openid", "Offline_Access", "roles", "urn:postern:project:roles", "URN:x", "user.write"];
  const scopes = [...names, "invoices:read", "invoices:read"].map(scope);
  expect(faults(await created(mine, mine.owner, { scopes }))).toEqual([
    ...names.map((_, at) => [`scopes[${at}].name`, "SCOPE_RESERVED"]),
    ["scopes[7].name", "REPEATED"],
  ]);
  for (const name of ["", "a b", 'a"b', "a\\b", "ä", "x".repeat(101)])
    expect((await created(mine, mine.owner, { scopes: [scope(name)] })).status).toBe(400);
  expect((await created(mine, mine.owner, { scopes: [{ name: "x", texts: { de: "Lesen" } }] })).status).toBe(400);
});

test("what is wrong without the database and with it is told together", async () => {
  const wrong = { resourceUris: ["https://elsewhere.example/"], scopes: [{ name: "openid", texts: { en: "x" } }] };
  expect(faults(await created(mine, mine.owner, wrong))).toEqual([
    ["scopes[0].name", "SCOPE_RESERVED"],
    ["resourceUris[0]", "RESOURCE_URI_HOST"],
  ]);
});
