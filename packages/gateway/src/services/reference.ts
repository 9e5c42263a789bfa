import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { refuse } from "../../../../src/errors.ts";
import { accepted, type Encoding } from "../codec/compression.ts";
import type { Operations } from "../rpc/operations.ts";
import type { Answer, Located } from "../rpc/request.ts";
import type { Room } from "../rpc/rooms.ts";
import type { Document } from "./openapi/document.ts";

/** `/openapi.json` and `/docs`: what the API is, for tools and for people; written when the first of them asks. */
export function reference(operations: Operations): Room {
  const document = once(async () => (await import("./openapi/openapi.ts")).openapi(operations));
  const papers = new Map([
    [
      "/openapi.json",
      once(async () => paper(JSON.stringify(await document()), { "content-type": "application/json" })),
    ],
    ["/docs", once(async () => docsPaper(await document()))],
  ]);
  return (asked) => {
    const found = papers.get(asked.path);
    if (!found) return undefined;
    if (asked.method !== "GET" && asked.method !== "HEAD")
      throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: "GET, HEAD" } });
    return found().then((read) => read(asked));
  };
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
function paper(text: string, headers: Readonly<Record<string, string>>): (asked: Located) => Promise<Answer> {
  const body = Buffer.from(text);
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
  const all = { ...headers, etag, "cache-control": "no-cache", vary: "accept-encoding" };
  const ways = new Map<Encoding, () => Promise<Buffer>>();
  return async (asked) => {
    if (isKnown(asked.headers.get("if-none-match"), etag)) return { status: 304, headers: all, body: nothing() };
    const encoding = accepted(asked.headers.get("accept-encoding") ?? undefined);
    if (!encoding) return { status: 200, headers: all, body };
    const way = ways.get(encoding) ?? once(() => encoding.compress(body));
    ways.set(encoding, way);
    return { status: 200, headers: { ...all, "content-encoding": encoding.name }, body: await way() };
  };
}

// RFC 9110, 13.1.2: compared weakly, since somebody on the way may have compressed the text.
function isKnown(header: string | null, etag: string): boolean {
  const known = (header ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  return known.includes("*") || known.includes(etag);
}

// A text, even an empty one, would be sent with a length that is not that of the text known (RFC 9110, 8.6).
async function* nothing(): AsyncGenerator<string> {}
