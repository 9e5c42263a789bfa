import { escapeHtml, type HttpRequest, type HttpRoute, type Response } from "@postern/gateway";
import { packageVersion } from "../contract/package_folder.ts";
import { refuse } from "../errors.ts";
import { consolePath } from "../provider/http/paths.ts";
import { redirect } from "../provider/http/redirect.ts";
import { placeOf } from "../provider/pages/own_address.ts";
import { type ConsoleFile, type ConsoleFiles, consoleFiles, etagOf, fileEncodings } from "./console_files.ts";

/** The issuer at which the console signs in; undefined if nobody can sign in at this instance. */
type ConsoleOptions = { readonly issuer: () => string | undefined; readonly publicUrl: string | undefined };

/**
 * `/console/`: the page of administrators. Every path below that names no file shows the page, which chooses its content by the path; its
 * files have their hash in their name. They are read, or in a checkout built, for the first request.
 */
export function consoleRoutes(options: ConsoleOptions): readonly HttpRoute[] {
  const files = kept(consoleFiles);
  const version = kept(packageVersion);
  const shown = { ...options, files, version };
  return [
    { path: withoutSlash, handle: () => ({ status: 308, headers: { location: consolePath }, body: "" }) },
    { path: `${consolePath}*`, handle: (request) => served(shown, request) },
  ];
}

const withoutSlash = consolePath.slice(0, -1);
const below = `${consolePath}assets/`;

type Shown = ConsoleOptions & {
  readonly files: () => Promise<ConsoleFiles | undefined>;
  readonly version: () => Promise<string>;
};

async function served(shown: Shown, request: HttpRequest): Promise<Response> {
  const { path } = request;
  const files = await shown.files();
  if (path.startsWith(below)) return fileAt(files?.assets.get(path.slice(below.length)), request);
  if (path.includes(".")) throw refuse.because("UNKNOWN_PATH");
  return files ? pageOf(files, shown, request) : notBuilt;
}

/** Caches a result, but neither a failure nor an absent one: a missing file may exist the next time. */
function kept<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return async () => {
    made ??= make();
    try {
      const result = await made;
      if (result === undefined) made = undefined;
      return result;
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
}

/** Fixed files are looked up by their name in a map, so that no path of a request reaches the file system. */
function fileAt(file: ConsoleFile | undefined, { headers }: HttpRequest): Response {
  if (!file) throw refuse.because("UNKNOWN_PATH");
  const all = {
    "content-type": file.type,
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; sandbox",
    etag: file.etag,
    vary: "accept-encoding",
  };
  if (isKnown(headers["if-none-match"], file.etag)) return { status: 304, headers: all };
  const encoding = accepted(headers["accept-encoding"]).find((name) => file.encodings[name]);
  const compressed = encoding && file.encodings[encoding];
  if (!compressed) return { status: 200, headers: all, body: file.bytes };
  return { status: 200, headers: { ...all, "content-encoding": encoding }, body: compressed };
}

/** The page, with the address at which it signs in, and its version. */
async function pageOf({ page }: ConsoleFiles, shown: Shown, { headers, path, query }: HttpRequest): Promise<Response> {
  const issuer = shown.issuer();
  // Sign-ins need the host name that the cookies belong to; as with our other pages, 127.0.0.1 leads to localhost.
  const isElsewhere = issuer !== undefined && shown.publicUrl === undefined;
  if (isElsewhere && placeOf(headers, new URL(issuer)) === "loopback")
    return redirect(`${issuer}${path}${query && `?${query}`}`, { cookies: [] });
  const version = await shown.version();
  const body = page
    .replace('data-issuer=""', () => `data-issuer="${escapeHtml(issuer ?? "")}"`)
    .replace('data-version=""', () => `data-version="${escapeHtml(version)}"`);
  const all = { ...pageHeaders, etag: etagOf(body), vary: "accept-encoding" };
  return isKnown(headers["if-none-match"], all.etag)
    ? { status: 304, headers: all }
    : { status: 200, headers: all, body };
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "trusted-types 'none'",
  "require-trusted-types-for 'script'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  "content-security-policy": policy.join("; "),
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

/** The command that builds the console in a checkout that was installed without the packages of development. */
const notBuilt: Response = {
  status: 503,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "The console is not built: run `npm ci --include=dev && npm run console` in the folder of Postern, and open this page again.\n",
};

// RFC 9110, 12.5.3: only a quality of zero excludes an encoding. Ours are preferred in this order.
function accepted(header = "") {
  const ranges = header.toLowerCase().split(",", 20);
  const named = ranges
    .filter((range) => !/;\s*q=0(\.0*)?\s*$/.test(range))
    .map((range) => range.split(";", 1)[0]?.trim());
  return fileEncodings.filter((name) => named.includes(name));
}

// RFC 9110, 13.1.2: the comparison is weak, because a proxy may have compressed the text.
const isKnown = (header: string | undefined, etag: string): boolean =>
  (header ?? "")
    .split(",", 20)
    .map((one) => one.trim().replace(/^W\//, ""))
    .some((one) => one === etag || one === "*");
