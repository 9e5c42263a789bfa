import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { acceptedEncoding, type Encoding } from "../codec/compression.ts";
import { GatewayError } from "../errors/gateway_error.ts";
import type { Response } from "../http/exchange.ts";
import type { HttpRequest, HttpRoute } from "../rpc/http_route.ts";
import { acceptsHtml } from "../rpc/page.ts";
import { filesIn, pathsIn } from "./docs/paths.ts";
import type { Site } from "./docs/site.ts";
import type { Document } from "./openapi/document.ts";
import type { ApiOptions } from "./openapi/options.ts";
import { ownTick } from "./own_tick.ts";

/** How to show a reference; without `makesCalls` its pages have no forms, for a port that does not serve the operations. */
export type ReferenceOptions = { readonly makesCalls?: boolean };

/**
 * `/openapi.json` and `/docs`: the API reference for tools and for people. It is made for the first request, because few nodes are ever
 * asked, and it takes a fifth of a second and 4 MB. `/` redirects people there.
 */
export function reference(
  options: () => ApiOptions | Promise<ApiOptions>,
  { makesCalls = true }: ReferenceOptions = {},
): readonly HttpRoute[] {
  // Only its bytes are kept, because the object takes as much memory again. The pages need the object once somebody opens one.
  const document = once(async () => {
    const { openapi } = await import("./openapi/openapi.ts");
    return Buffer.from(`${JSON.stringify(await openapi(await options()))}\n`);
  });
  const site = once(async () => siteOf(JSON.parse((await document()).toString()) as Document, makesCalls));
  const json = once(async () => cachedText(await document(), { "content-type": "application/json" }));
  const script = once(async () => cachedText(await fileOf("browser.js"), { "content-type": "text/javascript" }));
  const search = once(async () =>
    cachedText(`${(await site()).searchIndex()}\n`, { "content-type": "application/json" }),
  );
  // The longest page, and the first one that people open.
  const overview = once(async () => {
    const { pageAt, policy } = await site();
    return cachedText(pageAt(pathsIn.overview) ?? "", headersOf(policy));
  });
  return [
    { path: "/openapi.json", handle: async (request) => (await json())(request) },
    { path: pathsIn.overview, handle: async (request) => (await overview())(request) },
    { path: `${pathsIn.overview}/*`, handle: async (request) => pageOf(await site(), request) },
    { path: filesIn.script, handle: async (request) => (await script())(request) },
    { path: filesIn.search, handle: async (request) => (await search())(request) },
    { path: "/docs/", handle: () => ({ status: 308, headers: { location: pathsIn.overview }, body: "" }) },
    { path: "/", handle: start },
  ];
}

/** Redirects a browser to the reference; any other client gets an error that says where the reference is. */
function start({ headers }: HttpRequest): Response {
  if (acceptsHtml(headers.accept))
    return { status: 303, headers: { location: pathsIn.overview, vary: "accept" }, body: "" };
  throw new GatewayError("UNKNOWN_PATH", {
    params: { docs: "/docs", openapi: "/openapi.json" },
    metadata: { link: '</docs>; rel="service-doc", </openapi.json>; rel="service-desc"' },
  });
}

/** Memoizes a promise. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function siteOf(document: Document, makesCalls: boolean): Promise<Site> {
  const [{ docsSite }, style] = await Promise.all([import("./docs/site.ts"), fileOf("page.css")]);
  return docsSite(document, { style, makesCalls });
}

/** Another page of the reference. There are hundreds, so none is cached; making and compressing one takes about a millisecond. */
async function pageOf({ pageAt, policy }: Site, { path, headers }: HttpRequest): Promise<Response> {
  await ownTick();
  const body = pageAt(path);
  if (body === undefined) throw new GatewayError("UNKNOWN_PATH");
  const all = { ...headersOf(policy), "cache-control": "no-cache", etag: etagOf(body) };
  if (hasEtag(headers["if-none-match"], all.etag)) return { status: 304, headers: all };
  return { status: 200, headers: all, body };
}

const headersOf = (policy: string) => ({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
});

const fileOf = (name: string) => readFile(new URL(`./docs/${name}`, import.meta.url), "utf8");

/** Serves a constant text, compressed once per encoding. */
function cachedText(
  text: string | Buffer,
  headers: Readonly<Record<string, string>>,
): (request: HttpRequest) => Promise<Response> {
  const body = typeof text === "string" ? Buffer.from(text) : text;
  const etag = etagOf(body);
  const all = { ...headers, etag, "cache-control": "no-cache", vary: "accept-encoding" };
  const compressions = new Map<Encoding, () => Promise<Buffer>>();
  return async ({ headers: requestHeaders }) => {
    if (hasEtag(requestHeaders["if-none-match"], etag)) return { status: 304, headers: all };
    const encoding = acceptedEncoding(requestHeaders["accept-encoding"]);
    await ownTick();
    if (!encoding) return { status: 200, headers: all, body };
    const compression = compressions.get(encoding) ?? once(() => encoding.compress(body));
    compressions.set(encoding, compression);
    return { status: 200, headers: { ...all, "content-encoding": encoding.name }, body: await compression() };
  };
}

const etagOf = (body: string | Buffer) => `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;

// RFC 9110, 13.1.2: the comparison is weak, because a proxy may have compressed the text.
function hasEtag(header: string | undefined, etag: string): boolean {
  const etags = (header ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  return etags.includes("*") || etags.includes(etag);
}
