import { randomBytes } from "node:crypto";
import type { OutgoingHttpHeaders } from "node:http";
import { expect } from "vitest";
import { type Postern, signedUp } from "../harness.ts";
import { startTwoNodes } from "../two_nodes.ts";
import { answerIn, authorizeUrl, basic, issuerOf, type Person, post, signIn, verifier } from "./application.ts";
import { openBrowser, type Shown } from "./browser.ts";
import { done } from "./holding.ts";
import { loopback, serve } from "./https_server.ts";

/** What is answered at the URL of a document. */
export type Served = {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  readonly isSlow?: boolean;
};

/** An API of a project. */
export type Api = Readonly<Record<"projectId" | "appId" | "clientId" | "clientSecret" | "uri", string>>;

/** A client with a document, with its redirect URI on the web and one on the user's computer. */
export type DocumentClient = Readonly<Record<"path" | "clientId" | "site" | "local", string>>;

type More = Readonly<Record<string, string | undefined>>;

/** The redirect URI and the proof of an exchange of a code, and the node that it is sent to. */
type Exchanging = { readonly redirect_uri?: string; readonly dpop?: string; readonly node?: Pick<Postern, "url"> };

const unique = () => randomBytes(4).toString("hex");
const texts = { en: "read your notes" };

/** A server of documents. */
async function serveDocuments() {
  const served = new Map<string, Served>();
  const asked = new Set<string | undefined>();
  const server = await serve((request, response) => {
    asked.add(request.url);
    const { status = 200, headers = {}, body = "", isSlow = false } = served.get(request.url ?? "") ?? { status: 404 };
    response.writeHead(status, { "content-type": "application/json", ...headers });
    if (isSlow) response.write("{");
    else response.end(body);
  });

  /** A document under a path of its own, and the client that it describes. */
  function newClient(more: Readonly<Record<string, unknown>> = {}, answer: Partial<Served> = {}): DocumentClient {
    const path = `/${unique()}/client.json`;
    const clientId = server.url + path;
    const [site, local] = [`${server.url}/cb`, "http://127.0.0.1/cb"];
    const document = { client_id: clientId, client_name: "Bank", redirect_uris: [site, local], ...more };
    served.set(path, { body: JSON.stringify(document), ...answer });
    return { path, clientId, site, local: "http://127.0.0.1:49152/cb" };
  }

  return { server, served, asked, newClient };
}

/** Two nodes that read the documents of a server, an API that accepts clients with them, and a person. */
export async function startDocumentSite() {
  await using opened = new AsyncDisposableStack();
  const documents = await serveDocuments();
  opened.use(documents.server);
  const { url, outgoingCaFile } = documents.server;
  const nodes = await startTwoNodes({
    clientDocumentHosts: [new URL(url).host],
    ...{ outgoingPrivateNetworks: loopback, outgoingCaFile },
    ...{ clientDocumentsPerAddressPerMinute: 1_000, clientDocumentsPerHostPerMinute: 1_000 },
  });
  opened.use(nodes);
  const postern = nodes.one;
  const issuer = issuerOf(postern);
  const person = await signedUp(postern);
  const api = await newApi({ acceptsClientDocuments: true });
  const stack = opened.move();
  const parts = { ...documents, nodes, postern, issuer, person, api, newApi, urlFor, allowed, exchanged, refreshed };
  const close = () => stack.disposeAsync();
  return { ...parts, tokens, introspected, applicationOf, [Symbol.asyncDispose]: close };

  /** An API of a project of its own, unless one is given. */
  async function newApi(settings: Readonly<Record<string, unknown>> = {}, projectId?: string, owner?: string) {
    const headers = owner === undefined ? {} : { "x-service-orgid": owner };
    const inProject =
      projectId ?? done(await postern.admin.post("/v1/projects", { name: `P ${unique()}` }, headers)).projectId;
    const uri = `https://${unique()}.example/mcp`;
    const scopes = [{ name: "notes:read", texts }];
    const wanted = { name: `API ${unique()}`, resourceUris: [uri], scopes, ...settings };
    const made = done(await postern.admin.post(`/v1/projects/${inProject}/applications/api`, wanted, headers));
    const { appId, clientId, clientSecret } = made;
    return { projectId: inProject, appId, clientId, clientSecret, uri } satisfies Api;
  }

  function urlFor({ clientId, site }: DocumentClient, more: More = {}, at: Api = api): string {
    const scope = "openid offline_access notes:read";
    const named = { client_id: clientId, redirect_uri: site, resource: at.uri, scope };
    const nothing = { projectId: "", appId: "", clientId: "", clientSecret: "", redirectUri: "" };
    return authorizeUrl(issuer, nothing, { ...named, ...more });
  }

  /** Signs in at a client and allows it what it asks for; answers the last page, and the browser. */
  async function allowed(client: DocumentClient, more: More = {}, who: Person = person) {
    const browser = openBrowser(issuer);
    const asked = await signIn(browser, urlFor(client, more), who);
    expect(isConsent(asked)).toEqual([200, true]);
    return { browser, asked, back: await browser.submit(asked, {}, "allow") };
  }

  function exchanged(
    client: DocumentClient,
    code: string,
    { redirect_uri = client.site, dpop, node = nodes.two }: Exchanging = {},
  ) {
    const form = { grant_type: "authorization_code", code, redirect_uri, code_verifier: verifier };
    const headers = dpop === undefined ? {} : { dpop };
    return post(issuerOf(node), "/oauth/token", { ...form, client_id: client.clientId }, headers);
  }

  function refreshed({ clientId: client_id }: Pick<DocumentClient, "clientId">, refresh_token: string, dpop?: string) {
    const form = { grant_type: "refresh_token", refresh_token, client_id };
    return post(issuer, "/oauth/token", form, dpop === undefined ? {} : { dpop });
  }

  async function tokens(client: DocumentClient, who: Person = person): Promise<Readonly<Record<string, string>>> {
    const { code = "" } = answerIn((await allowed(client, {}, who)).back);
    return done(await exchanged(client, code));
  }

  async function introspected(token: string, at: Api = api) {
    return (await post(issuer, "/oauth/introspect", { token }, basic(at))).body;
  }

  async function applicationOf(client: DocumentClient, at: Api = api) {
    const list = await postern.admin.get(`/v1/projects/${at.projectId}/applications?pageSize=1000`);
    return list.body.applications.filter(({ clientId }: { clientId: string }) => clientId === client.clientId);
  }
}

/** Whether a page asks for consent. */
export const isConsent = ({ status, text }: Shown) => [status, text.includes('value="allow"')];

/** What a page that is no redirect says, if it is of the issuer. */
export const problemAt =
  (issuer: string) =>
  ({ status, url, text }: Shown) => [status, new URL(url).origin === new URL(issuer).origin, text];
