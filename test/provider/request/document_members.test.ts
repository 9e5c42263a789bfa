import * as oidc from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import type { Postern } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import type { TwoNodes } from "../../two_nodes.ts";
import { answerIn, challenge, issuerOf, type Person, post, signIn } from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";
import { type Api, type DocumentClient, isConsent, startDocumentSite } from "../document_site.ts";
import { type DpopKey, dpopKey, proofOf } from "../dpop.ts";
import { done } from "../holding.ts";
import { withinMinute } from "../within_minute.ts";

let site: Awaited<ReturnType<typeof startDocumentSite>>;
let nodes: TwoNodes;
let postern: Postern;
let issuer: string;
let person: Person;
let api: Api;
let key: DpopKey;
let other: DpopKey;
beforeAll(async () => {
  site = await startDocumentSite();
  ({ nodes, postern, issuer, person, api } = site);
  [key, other] = [await dpopKey(), await dpopKey("EdDSA")];
});
afterAll(() => site?.[Symbol.asyncDispose]());

const errorOf = ({ status, text }: Shown) => [status, /<code>([^<]*)/.exec(text)?.[1]];
const titleOf = ({ status, text }: Shown) => [status, /<h1>([^<]*)/.exec(text)?.[1]];

const discovered = ({ clientId }: DocumentClient) =>
  oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), { execute: [oidc.allowInsecureRequests] });

describe("a document that says dpop_bound_access_tokens", () => {
  const bound = { dpop_bound_access_tokens: true };
  const proof = (of: DpopKey) => proofOf(of, ["POST", `${issuer}/oauth/token`]);
  const codeOf = async (client: DocumentClient, more = {}) =>
    answerIn((await site.allowed(client, more)).back).code ?? "";
  const exchanged = async (client: DocumentClient, code: string, by?: DpopKey) =>
    site.exchanged(client, code, { node: postern, ...(by ? { dpop: await proof(by) } : {}) });

  test("gets no token without a proof, and its tokens are bound to the key of the first one", async () => {
    const client = site.newClient(bound);
    const code = await codeOf(client);
    const bare = await exchanged(client, code);
    expect([bare.status, bare.body.error]).toEqual([400, "invalid_dpop_proof"]);
    const got = done(await exchanged(client, code, key));
    expect([got.token_type, (await site.introspected(got.access_token)).cnf]).toEqual(["DPoP", { jkt: key.jkt }]);
    for (const dpop of [undefined, await proof(other)])
      expect((await site.refreshed(client, got.refresh_token, dpop)).body.error).toBe("invalid_grant");
    expect(done(await site.refreshed(client, got.refresh_token, await proof(key))).token_type).toBe("DPoP");
  });

  test("may name the key at the start, and then no other counts", async () => {
    const client = site.newClient(bound);
    const code = await codeOf(client, { dpop_jkt: key.jkt });
    for (const by of [undefined, other]) expect((await exchanged(client, code, by)).body.error).toBe("invalid_grant");
    expect(done(await exchanged(client, code, key)).token_type).toBe("DPoP");
  });

  test("and one that does not may have either kind of token", async () => {
    const client = site.newClient({ dpop_bound_access_tokens: false });
    expect(done(await exchanged(client, await codeOf(client))).token_type).toBe("Bearer");
    const { code = "" } = answerIn(await signIn(openBrowser(issuer), site.urlFor(client), person));
    expect(done(await exchanged(client, code, key)).token_type).toBe("DPoP");
  });
});

describe("a pushed request", () => {
  const formOf = (client: DocumentClient, more: Readonly<Record<string, string>> = {}) => ({
    ...{ client_id: client.clientId, redirect_uri: client.site, resource: api.uri, response_type: "code" },
    ...{ scope: "openid notes:read", state: "s1", code_challenge: challenge, code_challenge_method: "S256", ...more },
  });
  const push = (client: DocumentClient, more = {}, headers = {}) =>
    post(issuer, "/oauth/par", formOf(client, more), headers);
  const urlOf = ({ clientId }: DocumentClient, request_uri: string) =>
    `${issuer}/oauth/authorize?${new URLSearchParams({ client_id: clientId, request_uri })}`;

  test("of openid-client opens once, on any node, and signs in like any other", async () => {
    const client = site.newClient({ require_pushed_authorization_requests: true });
    const config = await discovered(client);
    const { scope, ...named } = formOf(client);
    const url = await oidc.buildAuthorizationUrlWithPAR(config, { ...named, scope });
    expect([...url.searchParams.keys()].sort()).toEqual(["client_id", "request_uri"]);
    const browser = openBrowser(issuer);
    const asked = await signIn(browser, url.href, person);
    expect(isConsent(asked)).toEqual([200, true]);
    const { code = "", state } = answerIn(await browser.submit(asked, {}, "allow"));
    expect([state, (await site.exchanged(client, code)).status]).toEqual(["s1", 200]);
    expect(errorOf(await browser.open(url.href))).toEqual([400, "expired"]);
  });

  test("opens for its own client alone, and is none of an application whose id is the client's", async () => {
    const [client, another] = [site.newClient(), site.newClient()];
    const { request_uri } = (await push(client)).body;
    expect(errorOf(await openBrowser(issuer).open(urlOf(another, request_uri)))).toEqual([400, "expired"]);
    expect((await openBrowser(issuer).open(urlOf(client, request_uri))).status).toBe(200);
  });

  test("is the only one of a document that requires it, and leads nobody elsewhere without it", async () => {
    const client = site.newClient({ require_pushed_authorization_requests: true });
    const page = await openBrowser(issuer).open(site.urlFor(client), { "accept-language": "de" });
    const says = /class="bad">[^<]*OAuth-Fehler invalid_request abgelehnt.*<code lang="en">[^<]*must push/s;
    expect([...errorOf(page), page.text]).toEqual([400, "request_malformed", expect.stringMatching(says)]);
  });

  test.each([
    ["a secret", (client: DocumentClient) => push(client, { client_secret: "s" }), "invalid_client"],
    [
      "a host that is not listed",
      () => push({ ...site.newClient(), clientId: "https://x.example/c" }),
      "invalid_client",
    ],
    [
      "no document",
      (client: DocumentClient) => push({ ...client, clientId: `${client.clientId}x` }),
      "invalid_request",
    ],
    [
      "another redirect URI",
      (client: DocumentClient) => push(client, { redirect_uri: "https://e.example" }),
      "invalid_request",
    ],
    ["no resource", (client: DocumentClient) => push(client, { resource: "" }), "invalid_request"],
    ["no challenge", (client: DocumentClient) => push(client, { code_challenge: "" }), "invalid_request"],
  ])("with %s is refused, and nothing is kept", async (_, send, error) => {
    await ask(nodes.databaseUrl, "delete from device_attempts");
    await ask(nodes.databaseUrl, "delete from pushed_requests");
    expect((await send(site.newClient())).body.error).toBe(error);
    expect(await ask(nodes.databaseUrl, "select from pushed_requests")).toEqual([]);
  });

  test("that is refused says why, as the page of a sign-in would", async () => {
    const client = site.newClient({ require_signed_request_object: true });
    const { error_description } = (await push(client)).body;
    expect(error_description).toContain("require_signed_request_object cannot be met");
    expect((await openBrowser(issuer).open(site.urlFor(client))).text).toContain("cannot be met");
  });

  test("counts by its address, as those of other clients without a secret do", async () => {
    const client = site.newClient();
    const most = postern.config.pushedRequestsPerAddressPerMinute;
    const pushed = await withinMinute(nodes.databaseUrl, async () => {
      const all = [];
      for (let nth = 0; nth < most; nth++) all.push((await push(client)).status);
      const { status, body } = await push(site.newClient());
      return [...all, status, body.error];
    });
    expect(pushed).toEqual([...Array(most).fill(201), 503, "temporarily_unavailable"]);
    await ask(nodes.databaseUrl, "delete from device_attempts");
  });
});

describe("a sign-out", () => {
  type SignedIn = { readonly client: DocumentClient; readonly browser: Browser; readonly hint: string };
  async function signedIn(client: DocumentClient, who = person): Promise<SignedIn> {
    const { browser, back } = await site.allowed(client, {}, who);
    const got = done(await site.exchanged(client, answerIn(back).code ?? "", { node: postern }));
    return { client, browser, hint: got.id_token };
  }
  const bye = () => `${site.server.url}/bye`;
  const local = "http://127.0.0.1:49152/bye";
  const leaving = () => site.newClient({ post_logout_redirect_uris: [bye(), local, "https://evil.example/bye"] });
  const endUrl = (parameters: Readonly<Record<string, string>>) =>
    `${issuer}/oauth/end-session?${new URLSearchParams(parameters)}`;
  const isSignedIn = async ({ browser, client }: SignedIn) =>
    answerIn(await browser.open(site.urlFor(client, { prompt: "none" }))).code !== undefined;

  test.each([
    ["its own origin", bye],
    ["the user's computer", () => local],
  ])("by the end_session URL of openid-client leads back to %s", async (_, uri) => {
    const signed = await signedIn(leaving());
    const config = await discovered(signed.client);
    const more = { id_token_hint: signed.hint, post_logout_redirect_uri: uri(), state: "s1" };
    const left = await signed.browser.open(oidc.buildEndSessionUrl(config, more).href);
    expect([left.status, left.url]).toEqual([303, `${uri()}?state=s1`]);
    expect(await isSignedIn(signed)).toBe(false);
  });

  test("with the hint alone needs no URI, and no document", async () => {
    const signed = await signedIn(site.newClient());
    site.served.set(signed.client.path, { status: 500 });
    const left = await signed.browser.open(endUrl({ id_token_hint: signed.hint, client_id: signed.client.clientId }));
    expect(titleOf(left)).toEqual([200, pageText("signed_out", "en")]);
  });

  test("is not kept from the user by a document that cannot be read any more, and leads nowhere then", async () => {
    const client = leaving();
    const { browser, back } = await site.allowed(client);
    const { id_token } = done(await site.exchanged(client, answerIn(back).code ?? ""));
    const there = openBrowser(issuerOf(nodes.two));
    for (const [name, value] of browser.cookies) there.cookies.set(name, value);
    site.served.set(client.path, { status: 500 });
    const url = endUrl({ id_token_hint: id_token, post_logout_redirect_uri: bye() });
    expect(titleOf(await there.open(url.replace(issuer, issuerOf(nodes.two))))).toEqual([
      200,
      pageText("signed_out", "en"),
    ]);
    expect(await isSignedIn({ client, browser, hint: id_token })).toBe(false);
  });

  test("leads nowhere once an owner deactivated the client, or the user ended it, and signs out all the same", async () => {
    const [refused, ended] = [await signedIn(leaving()), await signedIn(leaving())];
    const [{ id }] = await site.applicationOf(refused.client);
    done(await postern.admin.post(`/v1/projects/${api.projectId}/applications/${id}:deactivate`, {}));
    const [{ id: other }] = await site.applicationOf(ended.client);
    done(await person.client.delete(`/v1/users/me/connected-applications/${other}`));
    for (const { browser, hint } of [refused, ended]) {
      const left = await browser.open(endUrl({ id_token_hint: hint, post_logout_redirect_uri: bye() }));
      expect([titleOf(left), new URL(left.url).origin]).toEqual([[200, pageText("signed_out", "en")], issuer]);
      expect(browser.cookies.get("postern-session")).toBe("");
    }
  });

  test("without a hint names the host of the client and asks, and leads nowhere", async () => {
    const signed = await signedIn(leaving());
    const page = await signed.browser.open(
      endUrl({ client_id: signed.client.clientId, post_logout_redirect_uri: bye(), state: "s1" }),
    );
    expect(titleOf(page)).toEqual([200, pageText("sign_out_title", "en")]);
    expect(page.text).toContain(pageText("sign_out_text", "en", { application: new URL(site.server.url).host }));
    const left = await signed.browser.submit(page, {}, "sign_out");
    expect([titleOf(left), new URL(left.url).origin]).toEqual([[200, pageText("signed_out", "en")], issuer]);
    expect(await isSignedIn(signed)).toBe(false);
  });

  test("that a link asks for names no host that its user has allowed nothing", async () => {
    const { browser } = await signedIn(site.newClient());
    for (const client_id of [site.newClient().clientId, site.newClient().clientId.replace("client", "none")]) {
      const page = await browser.open(endUrl({ client_id }));
      expect([...titleOf(page), patternOf(pageText("sign_out_text", "en")).test(page.text)]).toEqual([
        200,
        pageText("sign_out_title", "en"),
        false,
      ]);
    }
  });

  test.each([
    ["a URI that the document does not list", () => ({ post_logout_redirect_uri: `${bye()}x` }), "logout_uri_unknown"],
    ["a URI of another origin", () => ({ post_logout_redirect_uri: "https://evil.example/bye" }), "logout_uri_unknown"],
    ["another port", () => ({ post_logout_redirect_uri: local.replace("49152", "5") }), "logout_uri_unknown"],
    ["another document", () => ({ client_id: site.newClient().clientId }), "hint_of_other_client"],
  ])("to or of %s is refused, and signs nobody out", async (_, more, error) => {
    const signed = await signedIn(leaving());
    const url = endUrl({ id_token_hint: signed.hint, client_id: signed.client.clientId, ...more() });
    expect(errorOf(await signed.browser.open(url))).toEqual([400, error]);
    expect(await isSignedIn(signed)).toBe(true);
  });

  test("leads nobody to a site by a link: a browser without a session, or with that of another user who is not asked", async () => {
    const { client, hint } = await signedIn(leaving());
    const url = endUrl({ id_token_hint: hint, client_id: client.clientId, post_logout_redirect_uri: bye() });
    expect(titleOf(await openBrowser(issuer).open(url))).toEqual([200, pageText("signed_out", "en")]);
    const another = await signedIn(site.newClient());
    const page = await another.browser.open(url);
    expect(titleOf(page)).toEqual([200, pageText("sign_out_title", "en")]);
    expect((await another.browser.submit(page, {}, "sign_out")).url).toBe(bye());
  });
});

test.each([
  ["dpop_bound_access_tokens", "yes", "must be true or false"],
  ["require_pushed_authorization_requests", 1, "must be true or false"],
  ["require_signed_request_object", true, "cannot be met"],
  ["tls_client_certificate_bound_access_tokens", true, "cannot be met"],
  ["post_logout_redirect_uris", "https://app.example", "must be a list"],
])("a document whose %s is %s is refused", async (name, value, says) => {
  const url = site.urlFor(site.newClient({ [name]: value }));
  const page = await openBrowser(issuer).open(url);
  expect([...errorOf(page), page.text]).toEqual([400, "request_malformed", expect.stringContaining(`${name} ${says}`)]);
  const { text } = await openBrowser(issuer).open(url, { "accept-language": "de" });
  expect([text.includes(says), text]).toEqual([
    false,
    expect.stringMatching(`Im Dokument des Clients (muss|steht) ${name}`),
  ]);
});
