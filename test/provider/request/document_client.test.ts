import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { startServer } from "../../../src/server/server.ts";
import { canHaveOwnNames, withOwnNames } from "../../fixture/own_name_server.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { organization, type Postern, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { certificateFor } from "../../wire/certificate.ts";
import { answerIn, issuerOf, type Person, post, signIn } from "../application.ts";
import { openBrowser, type Shown } from "../browser.ts";
import { delegated, exchanged as exchangedBy } from "../delegation.ts";
import {
  type Api,
  type DocumentClient,
  isConsent,
  problemAt,
  type Served,
  startDocumentSite,
} from "../document_site.ts";
import { done } from "../holding.ts";
import { loopback } from "../https_server.ts";
import { grantedMachine } from "../machine.ts";

let site: Awaited<ReturnType<typeof startDocumentSite>>;
let nodes: TwoNodes;
let postern: Postern;
let issuer: string;
let person: Person;
let api: Api;
beforeAll(async () => {
  site = await startDocumentSite();
  ({ nodes, postern, issuer, person, api } = site);
});
afterAll(() => site?.[Symbol.asyncDispose]());

type More = Readonly<Record<string, string | undefined>>;

const newOwn = () => site.newApi({ acceptsClientDocuments: true });

const problem = (shown: Shown) => problemAt(issuer)(shown);

test("discovery says whether clients may bring a document", async () => {
  const { body } = await postern.admin.get("/.well-known/openid-configuration");
  expect(body.client_id_metadata_document_supported).toBe(true);
});

test("a client with a document signs a user in once the user allows its host, and calls the API", async () => {
  const client = site.newClient();
  const browser = openBrowser(issuer);
  const asked = await signIn(browser, site.urlFor(client), person);
  expect(isConsent(asked)).toEqual([200, true]);
  expect(asked.text).toMatch(
    patternOf(pageText("document_consent_text", "en", { application: new URL(site.server.url).host })),
  );
  expect(asked.text).not.toContain("Bank");
  expect(asked.text).toContain("read your notes");
  expect(asked.text).not.toContain(pageText("document_loopback", "en"));
  expect(await site.applicationOf(client)).toEqual([]);
  const { code = "", iss } = answerIn(await browser.submit(asked, {}, "allow"));
  expect(iss).toBe(issuer);
  const got = done(await site.exchanged(client, code)) as Readonly<Record<string, string>>;
  expect(got.scope).toBe("openid offline_access notes:read");
  const { active, aud, client_id, scope } = await site.introspected(got.access_token ?? "");
  expect([active, aud, client_id, scope]).toEqual([true, api.uri, client.clientId, got.scope]);
  const again = done(await site.refreshed(client, got.refresh_token ?? ""));
  expect((await site.introspected(again.access_token)).active).toBe(true);
  expect(answerIn(await browser.open(site.urlFor(client))).code).toEqual(expect.any(String));
  const [application] = await site.applicationOf(client);
  expect(application).toMatchObject({ name: client.clientId, bringsDocument: true, state: "APPLICATION_STATE_ACTIVE" });
});

test("consent is kept for each document and each API, and is asked of users of the API's own organization", async () => {
  const [client, other] = [site.newClient(), site.newClient()];
  const { browser } = await site.allowed(client);
  expect(isConsent(await browser.open(site.urlFor(other)))).toEqual([200, true]);
  const second = await site.newApi({ acceptsClientDocuments: true }, api.projectId);
  expect(isConsent(await browser.open(site.urlFor(client, {}, second)))).toEqual([200, true]);
  expect(answerIn(await browser.open(site.urlFor(client, { prompt: "none" }))).code).toEqual(expect.any(String));
  expect(answerIn(await browser.open(site.urlFor(client, { prompt: "none" }, second))).error).toBe("consent_required");
});

test("a program on the user's device is answered only after a page with the warning, at any port", async () => {
  const client = site.newClient();
  const warning = pageText("document_loopback", "en");
  const local = { redirect_uri: client.local };
  const { asked, back, browser } = await site.allowed(client, local);
  expect(asked.text).toContain(warning);
  expect([new URL(back.url).origin, back.text.includes('http-equiv="refresh"')]).toEqual([
    "http://127.0.0.1:49152",
    true,
  ]);
  for (const redirect_uri of [client.local, "http://127.0.0.1:50000/cb"]) {
    const again = await browser.open(site.urlFor(client, { redirect_uri }));
    expect([again.status, again.text.includes(warning), again.text.includes("code=")]).toEqual([200, true, false]);
    const { code = "" } = answerIn(await browser.submit(again, {}, "continue"));
    expect((await site.exchanged(client, code, { redirect_uri })).status).toBe(200);
  }
  const fresh = await signIn(openBrowser(issuer), site.urlFor(client, local), person);
  expect([fresh.text.includes(warning), fresh.text.includes("code=")]).toEqual([true, false]);
  for (const more of [{ prompt: "none" }, { code_challenge: undefined, code_challenge_method: undefined }]) {
    const shown = await browser.open(site.urlFor(client, { ...local, ...more }));
    expect(problem(shown)).toEqual([400, true, expect.stringContaining("malformed")]);
  }
  const second = await signedUp(postern);
  await signIn(browser, site.urlFor(client, { ...local, prompt: "login" }), second);
  const choice = await browser.open(site.urlFor(client, { ...local, prompt: "select_account" }));
  const account = /name="account" value="([^"]+)"/.exec(choice.text)?.[1] ?? "";
  const chosen = await browser.submit(choice, { account }, "other");
  expect([chosen.status, chosen.text.includes(warning)]).toEqual([200, true]);
});

describe("what a document cannot do", () => {
  const open = (client: DocumentClient, more: More = {}) => openBrowser(issuer).open(site.urlFor(client, more));
  type Row = readonly [what: string, () => Promise<Shown>, says: string];
  const answering = (what: string, answer: Partial<Served>, says: string): Row => [
    what,
    () => open(site.newClient({}, answer)),
    says,
  ];
  const elsewhere = "https://evil.example/cb";
  const rows: readonly Row[] = [
    answering("a redirect", { status: 302, headers: { location: "/client.json" } }, "at a public address"),
    answering("an error", { status: 500 }, "at a public address"),
    answering("a megabyte", { body: " ".repeat(1_000_000) }, "at a public address"),
    answering("an answer that never ends", { isSlow: true }, "at a public address"),
    answering("a page", { headers: { "content-type": "text/html" } }, "at a public address"),
    [
      "another's document",
      () => open(site.newClient({ client_id: `${site.server.url}/other` })),
      "client_id is not its URL",
    ],
    ["a secret", () => open(site.newClient({ client_secret: "s" })), "token_endpoint_auth_method"],
    [
      "another origin",
      () => open(site.newClient({ redirect_uris: [elsewhere] }), { redirect_uri: elsewhere }),
      "redirect_uri_unknown",
    ],
    [
      "a redirect URI that is not in it",
      () => open(site.newClient(), { redirect_uri: `${site.server.url}/x` }),
      "redirect_uri_unknown",
    ],
    ["no resource", () => open(site.newClient(), { resource: undefined }), "resource must name the API"],
    ["our own API", () => open(site.newClient(), { resource: issuer }), "resource must name the API"],
    ["an unknown resource", () => open(site.newClient(), { resource: "https://nobody.example/" }), "accepts clients"],
    ["a host that is not listed", () => open({ ...site.newClient(), clientId: "https://app.example/c" }), "unknown"],
    ["a look-alike", () => open({ ...site.newClient(), clientId: "https://xn--lcalhost-0bb.example/c" }), "unknown"],
    ["letters of another script", () => open({ ...site.newClient(), clientId: "https://lоcalhost/c" }), "unknown"],
  ];
  test.each(rows)("%s", async (_, attack, says) => {
    const before = await ask(nodes.databaseUrl, "select from events");
    expect(problem(await attack())).toEqual([400, true, expect.stringContaining(says)]);
    expect(await ask(nodes.databaseUrl, "select from events")).toHaveLength(before.length);
  });

  test.skipIf(!canHaveOwnNames)("a name that leads elsewhere at the second reading", async () => {
    await using certificate = await certificateFor("rebind.test");
    const address = "8.8.8.8";
    const file = join(import.meta.dirname, "../rebinding/program.ts");
    const args = [certificate.certFile, certificate.keyFile, address];
    const { outcomes, called } = JSON.parse(await withOwnNames({ file, args, addresses: [address] }));
    const refused = ["rebind", "both", "private"].map((name) => `${name}.test: the address is not public`);
    expect([outcomes, called]).toEqual([["rebind.test: {}", ...refused], { [address]: 1, "127.0.0.1": 0 }]);
  });
});

test("a client that somebody has allowed signs users in where unknown ones are too many, on a node that has not read it", async () => {
  const [allowed, ...unknown] = [site.newClient(), site.newClient(), site.newClient()];
  await site.allowed(allowed);
  await using node = await startServer({ ...postern.config, clientDocumentsPerHostPerMinute: 1 });
  const open = (client: DocumentClient) => openBrowser(node.url).open(site.urlFor(client).replace(issuer, node.url));
  const statuses: number[] = [];
  for (const client of [...unknown, allowed]) statuses.push((await open(client)).status);
  expect(statuses).toEqual([200, 429, 200]);
});

test("owners list such clients, change nothing about them, and refuse them for good", async () => {
  const client = site.newClient();
  const got = await site.tokens(client);
  const [{ id, oidc, api: none }] = await site.applicationOf(client);
  expect([oidc, none]).toEqual([undefined, undefined]);
  const path = `/v1/projects/${api.projectId}/applications/${id}`;
  const refused = [
    await postern.admin.call("PATCH", `${path}/oidc`, { name: "Bank" }),
    await postern.admin.call("PATCH", `${path}/api`, { name: "Bank" }),
    await postern.admin.post(`${path}/keys`, { jwksUri: `${site.server.url}/keys` }),
    await postern.admin.post(`${path}:rotateClientSecret`, {}),
  ].map(({ body }) => body.details?.[0]?.reason);
  const notOidc = "APPLICATION_NOT_OIDC";
  expect(refused).toEqual([notOidc, "APPLICATION_NOT_API", notOidc, "CLIENT_SECRET_MISSING"]);
  done(await postern.admin.post(`${path}:deactivate`, {}));
  expect((await site.refreshed(client, got.refresh_token ?? "")).body.error).toBe("invalid_client");
  const again = await openBrowser(issuer).open(site.urlFor(client));
  expect(problem(again)).toEqual([400, true, expect.stringContaining("unknown")]);
  expect(
    (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${got.access_token}` } })).status,
  ).toBe(401);
});

test("tokens end with the consent, and with the API's leave, on all nodes", async () => {
  const [client, own] = [site.newClient(), await site.newApi({ acceptsClientDocuments: true })];
  const { browser, back } = await site.allowed(client, { resource: own.uri });
  const got = done(await site.exchanged(client, answerIn(back).code ?? ""));
  const machine = await grantedMachine(postern);
  const target = await site.newApi({}, machine.projectId);
  await delegated(postern, machine, { served: [own], targets: [target] });
  const onBehalf = () => exchangedBy({ issuer, machine, target }, got.access_token);
  const behalf = done(await onBehalf()).access_token;
  const active = async () => {
    const both = [await site.introspected(got.access_token, own), await site.introspected(behalf, target)];
    expect(both[1].active).toBe(both[0].active);
    return both[0].active;
  };
  const change = (acceptsClientDocuments: boolean) =>
    postern.admin.call("PATCH", `/v1/projects/${own.projectId}/applications/${own.appId}/api`, {
      acceptsClientDocuments,
    });
  expect(await active()).toBe(true);
  done(await change(false));
  expect(await active()).toBe(false);
  expect((await onBehalf()).body.error).toBe("invalid_request");
  expect((await site.refreshed(client, got.refresh_token)).body.error).toBe("invalid_target");
  expect(problem(await browser.open(site.urlFor(client, {}, own)))).toEqual([
    400,
    true,
    expect.stringContaining("accepts"),
  ]);
  done(await change(true));
  expect(await active()).toBe(true);
  const [{ id }] = await site.applicationOf(client, own);
  const connected = await person.client.get("/v1/users/me/connected-applications");
  expect(connected.body.applications).toContainEqual(expect.objectContaining({ appId: id, name: client.clientId }));
  done(await person.client.delete(`/v1/users/me/connected-applications/${id}`));
  expect(await active()).toBe(false);
  expect((await site.refreshed(client, got.refresh_token)).body.error).toBe("invalid_grant");
});

test("a client revokes its tokens, and what is unknown is no error; others' codes are nothing to it", async () => {
  const [client, other] = [site.newClient(), site.newClient()];
  const got = await site.tokens(client);
  const revoke = (token: string) => post(issuer, "/oauth/revoke", { token, client_id: client.clientId });
  expect((await revoke("or_unknown")).status).toBe(200);
  expect((await site.refreshed(other, got.refresh_token ?? "")).body.error).toBe("invalid_grant");
  expect((await revoke(got.refresh_token ?? "")).status).toBe(200);
  expect((await site.introspected(got.access_token ?? "")).active).toBe(false);
  const { code = "" } = answerIn(await signIn(openBrowser(issuer), site.urlFor(client), person));
  expect((await site.exchanged(other, code)).body.error).toBe("invalid_grant");
  expect((await post(issuer, "/oauth/device", { client_id: client.clientId, resource: api.uri })).body.error).toBe(
    "invalid_client",
  );
});

test("an API has such clients in its own project alone, and nobody can register the URL of a document for others", async () => {
  const client = site.newClient();
  const owner = await organization(postern);
  const theirs = await site.newApi({ acceptsClientDocuments: true }, undefined, owner);
  const wanted = { name: "Squat", clientId: client.clientId, redirectUris: ["https://evil.example/cb"] };
  const path = `/v1/projects/${theirs.projectId}/applications/oidc`;
  done(await postern.admin.post(path, wanted, { "x-service-orgid": owner }));
  const got = await site.tokens(client);
  expect((await site.introspected(got.access_token ?? "", theirs)).active).toBe(false);
  expect((await site.introspected(got.access_token ?? "")).active).toBe(true);
  const stranger = await signedUp(postern, { organizationId: owner });
  const sent = await signIn(openBrowser(issuer), site.urlFor(client), stranger);
  expect([answerIn(sent).error, (await site.applicationOf(client)).length]).toEqual(["access_denied", 1]);
  const both = `${site.urlFor(client)}&resource=${encodeURIComponent(theirs.uri)}`;
  expect(answerIn(await openBrowser(issuer).open(both)).error).toBe("invalid_target");
});

test("ten users who allow a client at once make it one application", async () => {
  const client = site.newClient();
  const people = await Promise.all(Array.from({ length: 10 }, () => signedUp(postern)));
  const all = await Promise.all(people.map((who) => site.tokens(client, who)));
  expect(new Set(all.map(({ access_token }) => access_token)).size).toBe(10);
  expect(await site.applicationOf(client)).toHaveLength(1);
});

test("a redirect URI that a document loses between two requests leads nowhere where it is read again", async () => {
  const client = site.newClient();
  expect((await openBrowser(issuer).open(site.urlFor(client))).status).toBe(200);
  site.served.set(client.path, { body: JSON.stringify({ client_id: client.clientId, redirect_uris: [client.local] }) });
  const at = issuerOf(nodes.two);
  const { status, text } = await openBrowser(at).open(site.urlFor(client).replace(issuer, at));
  expect([status, text]).toEqual([400, expect.stringContaining("redirect_uri_unknown")]);
});

test("documents whose URLs differ only in case are different clients", async () => {
  const client = site.newClient();
  const path = client.path.replace("client.json", "Client.json");
  const other = { ...client, path, clientId: site.server.url + path };
  site.served.set(path, { body: JSON.stringify({ client_id: other.clientId, redirect_uris: [client.site] }) });
  const both = [await site.tokens(client), await site.tokens(other)];
  expect(
    await Promise.all(both.map(async ({ access_token = "" }) => (await site.introspected(access_token)).client_id)),
  ).toEqual([client.clientId, other.clientId]);
});

/** Fills a project with a thousand clients that a user allows, and gives each of them an age. */
async function filled(own: Api, who: Person) {
  const rows = `select owner, 'full-' || n as id, project_id, 'https://h.example/' || n as url, now() - interval '1 day' + n * interval '1 s' as at
     from applications cross join generate_series(1, 1000) n where app_id = '${own.appId}'`;
  await ask(
    nodes.databaseUrl,
    `insert into applications (owner, app_id, project_id, name, client_id, oidc, is_document, version, created, changed)
     select owner, id, project_id, url, url, '{}', true, 1, at, at from (${rows}) r`,
  );
  await ask(
    nodes.databaseUrl,
    `insert into consents (owner, consent_id, user_id, app_id, scopes, version, created, changed)
     select owner, 'of ' || id, '${who.userId}', id, '{openid}', 1, at, at from (${rows}) r`,
  );
}

test("a project with a thousand of them gets no other, and says so, until a user ends one that nobody refused", async () => {
  const [own, first, holder] = [await newOwn(), site.newClient(), await signedUp(postern)];
  await filled(own, holder);
  const again = () => site.allowed(first, { resource: own.uri });
  expect(problem((await again()).back)).toEqual([400, true, expect.stringContaining("up to 1000 clients")]);
  done(await postern.admin.post(`/v1/projects/${own.projectId}/applications/full-7:deactivate`, {}));
  for (const id of ["full-7", "full-9", "full-8"])
    done(await holder.client.delete(`/v1/users/me/connected-applications/${id}`));
  expect(answerIn((await again()).back).code).toEqual(expect.any(String));
  const ofProject = async () => {
    const { body } = await postern.admin.get(`/v1/projects/${own.projectId}/applications?pageSize=1000`);
    const more = await postern.admin.get(
      `/v1/projects/${own.projectId}/applications?pageSize=1000&pageToken=${body.nextPageToken}`,
    );
    return [...body.applications, ...more.body.applications].map(({ id }: { id: string }) => id);
  };
  const left = await ofProject();
  expect([left.length, left.includes("full-7"), left.includes("full-8")]).toEqual([1_001, true, false]);
  const { events } = (await postern.admin.get("/v1/events?types=application.deleted&pageSize=1000")).body;
  expect(events.map(({ objectId }: { objectId: string }) => objectId)).toEqual(["full-8"]);
});

test("one user allows twenty of a project, also when forty are allowed at once on one node, and can end one for another", async () => {
  const [own, who, other] = [await newOwn(), await signedUp(postern), await signedUp(postern)];
  const [browser, clients] = [openBrowser(issuer), Array.from({ length: 40 }, () => site.newClient())];
  const of = { resource: own.uri };
  await signIn(browser, site.urlFor(clients[0] ?? site.newClient(), of), who);
  const asked = await Promise.all(clients.map((client) => browser.open(site.urlFor(client, of))));
  const backs = await Promise.all(asked.map((page) => browser.submit(page, {}, "allow")));
  const [some, none] = [backs.filter(({ url }) => url.includes("code=")), backs.filter(({ status }) => status === 400)];
  expect([some.length, none.length]).toEqual([20, 20]);
  for (const page of none) expect(problem(page)).toEqual([400, true, expect.stringContaining("up to 20 clients")]);
  const refused = clients[backs.findIndex(({ status }) => status === 400)] ?? site.newClient();
  const again = async () => browser.submit(await browser.open(site.urlFor(refused, of)), {}, "allow");
  await site.allowed(refused, of, other);
  expect(problem(await again())).toEqual([400, true, expect.stringContaining("up to 20 clients")]);
  const held = clients[backs.findIndex(({ url }) => url.includes("code="))] ?? site.newClient();
  const wider = { ...of, scope: "openid offline_access notes:read profile" };
  expect(isConsent(await browser.open(site.urlFor(held, wider)))).toEqual([200, true]);
  const widened = await browser.submit(await browser.open(site.urlFor(held, wider)), {}, "allow");
  expect(answerIn(widened).code).toEqual(expect.any(String));
  const [{ id }] = await site.applicationOf(held, own);
  done(await who.client.delete(`/v1/users/me/connected-applications/${id}`));
  expect(answerIn(await again()).code).toEqual(expect.any(String));
});

test("nobody is sent to a client that nobody has allowed yet, unless by a form", async () => {
  const client = site.newClient();
  const errors = [{ prompt: "none" }, { response_type: "id_token" }, { code_challenge: undefined }];
  const open = (more: More) => openBrowser(issuer).open(site.urlFor(client, more));
  for (const more of errors)
    expect(problem(await open(more))).toEqual([400, true, expect.stringContaining("malformed")]);
  const browser = openBrowser(issuer);
  const asked = await signIn(browser, site.urlFor(client), person);
  expect(answerIn(await browser.submit(asked, {}, "cancel")).error).toBe("access_denied");
  await site.allowed(client);
  expect(answerIn(await open({ prompt: "none" })).error).toBe("login_required");
});

test("a failure of ours is one also where nobody is sent back: the page says so, and does not blame the request", async () => {
  const browser = openBrowser(issuer);
  await signIn(browser, `${issuer}/account`, person);
  const open = () => browser.open(site.urlFor(site.newClient()));
  await ask(nodes.databaseUrl, "alter table sessions rename to away");
  const failed = await open().finally(() => ask(nodes.databaseUrl, "alter table away rename to sessions"));
  expect([failed.status, failed.text]).toEqual([503, expect.stringContaining("<code>busy</code>")]);
  expect((await open()).status).toBe(200);
});

test("no document is read at a private address or, without listed hosts, anywhere", async () => {
  const rows = [
    [{ clientDocumentHosts: ["*"], outgoingPrivateNetworks: [] }, "at a public address"],
    [{ clientDocumentHosts: ["*"], outgoingPrivateNetworks: loopback }, "at a public address"],
    [{ clientDocumentHosts: [] }, "unknown"],
  ] as const;
  for (const [settings, says] of rows) {
    await using node = await startTwoNodes({ outgoingCaFile: site.server.outgoingCaFile, ...settings });
    const at = issuerOf(node.one);
    const { projectId } = done(await node.one.admin.post("/v1/projects", { name: "P" }));
    const uri = "https://api.example/mcp";
    const wanted = { name: "API", resourceUris: [uri], acceptsClientDocuments: true };
    done(await node.one.admin.post(`/v1/projects/${projectId}/applications/api`, wanted));
    const client = site.newClient();
    const shown = await openBrowser(at).open(site.urlFor(client, { resource: uri }).replace(issuer, at));
    expect([shown.status, shown.text]).toEqual([400, expect.stringContaining(says)]);
    expect(site.asked.has(client.path)).toBe(false);
  }
});
