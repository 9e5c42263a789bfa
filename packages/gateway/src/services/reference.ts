import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { acceptedEncoding, type Encoding } from "../codec/compression.ts";
import type { Response } from "../http/exchange.ts";
import type { HttpRequest, HttpRoute } from "../rpc/http_route.ts";
import type { Document } from "./openapi/document.ts";
import type { ApiOptions } from "./openapi/options.ts";

/** `/openapi.json` and `/docs`: what the API is, for tools and for people; written when the first of them asks. */
export function reference(options: () => ApiOptions): readonly HttpRoute[] {
  const document = once(async () => (await import("./openapi/openapi.ts")).openapi(options()));
  const json = once(async () => paper(JSON.stringify(await document()), { "content-type": "application/json" }));
  const page = once(async () => docsPaper(await document()));
  return [
    { path: "/openapi.json", handle: async (request) => (await json())(request) },
    { path: "/docs", handle: async (request) => (await page())(request) },
  ];
}

/** Makes something when it is first asked for, and never again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function docsPaper(document: Document) {
  const [{ docsPage }, css] = await Promise.all([
    import("./docs/page.ts"),
    readFile(new URL("./docs/page.css", import.meta.url), "utf8"),
  ]);
  const { body, policy } = docsPage(document, css);
  const headers = { "content-security-policy": policy, "referrer-policy": "no-referrer" };
  return paper(body, { "content-type": "text/html; charset=utf-8", ...headers });
}

/** A text that stays the same as long as the process lives; compressed once in each way, however often it is asked for. */
function paper(text: string, headers: Readonly<Record<string, string>>): (request: HttpRequest) => Promise<Response> {
  const body = Buffer.from(text);
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
  const all = { ...headers, etag, "cache-control": "no-cache", vary: "accept-encoding" };
  const ways = new Map<Encoding, () => Promise<Buffer>>();
  return async ({ headers: asked }) => {
    if (isKnown(asked["if-none-match"], etag)) return { status: 304, headers: all };
    const encoding = acceptedEncoding(asked["accept-encoding"]);
    if (!encoding) return { status: 200, headers: all, body };
    const way = ways.get(encoding) ?? once(() => encoding.compress(body));
    ways.set(encoding, way);
    return { status: 200, headers: { ...all, "content-encoding": encoding.name }, body: await way() };
  };
}

// RFC 9110, 13.1.2: compared weakly, since somebody on the way may have compressed the text.
function isKnown(header: string | undefined, etag: string): boolean {
  const known = (header ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  return known.includes("*") || known.includes(etag);
}
