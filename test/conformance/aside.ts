import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createContextKey } from "@connectrpc/connect";
import type { Lane } from "../../src/transport/lane/lane.ts";

/** A header with its values, as the suite writes it. */
export type Header = { readonly name: string; readonly value: readonly string[] };

/** What the suite wants to know of a call, and to add to its answer, that no handler of ours ever does. */
export type Aside = {
  readonly requestHeaders: readonly Header[];
  readonly query: readonly Header[];
  headers: readonly Header[];
  trailers: readonly Header[];
};

const asides = new AsyncLocalStorage<Aside>();

/** Under which a call keeps it: a body that ends later is not told of in the same run of events. */
export const asideKey = createContextKey<Aside | undefined>(undefined);

/** What goes with the call that begins now. */
export const aside = (): Aside | undefined => asides.getStore();

/** Offers every request to a lane, and puts what handlers want to add into the answers of lane and door alike. */
export function withAsides(lane: Lane | undefined): Lane {
  return {
    stream(stream, headers) {
      const about = asideOf(headers, headers[":path"]);
      asides.enterWith(about);
      addToStream(stream, about, mannerOf(headers));
      return lane?.stream(stream, headers) ?? false;
    },
    request(request, response) {
      const about = asideOf(request.headersDistinct, request.url);
      asides.enterWith(about);
      addToResponse(response, about, mannerOf(request.headers));
      return lane?.request(request, response) ?? false;
    },
  };
}

type Manner = "grpc" | "grpc-web" | "connect unary" | "connect stream";

function mannerOf(headers: IncomingHttpHeaders): Manner {
  const type = headers["content-type"] ?? "";
  if (type.startsWith("application/grpc-web")) return "grpc-web";
  if (type.startsWith("application/grpc")) return "grpc";
  return type.startsWith("application/connect+") ? "connect stream" : "connect unary";
}

function asideOf(fields: NodeJS.Dict<string | string[]>, target = ""): Aside {
  const headers = Object.entries(fields).filter(([name]) => !name.startsWith(":"));
  const parameters = new URLSearchParams(target.split("?")[1] ?? "");
  return {
    requestHeaders: headers.map(([name, value]) => ({ name, value: [value ?? []].flat() })),
    query: [...new Set(parameters.keys())].map((name) => ({ name, value: parameters.getAll(name) })),
    headers: [],
    trailers: [],
  };
}

function addToStream(stream: ServerHttp2Stream, about: Aside, manner: Manner): void {
  const { respond, sendTrailers } = stream;
  stream.respond = (headers, options) =>
    respond.call(stream, added({ ...headers } as OutgoingHttpHeaders, about, manner), options);
  stream.sendTrailers = (trailers) => sendTrailers.call(stream, { ...trailers, ...fieldsOf(about.trailers) });
  addToBody(stream, about, manner);
}

function addToResponse(response: ServerResponse<IncomingMessage>, about: Aside, manner: Manner): void {
  const { writeHead } = response;
  response.writeHead = (status: number, headers: unknown) =>
    writeHead.call(response, status, added(headers as OutgoingHttpHeaders, about, manner));
  addToBody(response, about, manner);
}

function added(headers: OutgoingHttpHeaders, about: Aside, manner: Manner): OutgoingHttpHeaders {
  const all = { ...headers, ...fieldsOf(about.headers) };
  if (manner === "connect unary") return { ...all, ...fieldsOf(about.trailers, "trailer-") };
  if (manner === "grpc") return "grpc-status" in headers ? { ...all, ...fieldsOf(about.trailers) } : all;
  // The trailers at the end of the body make it longer.
  delete all["content-length"];
  return all;
}

const fieldsOf = (headers: readonly Header[], prefix = "") =>
  Object.fromEntries(headers.map(({ name, value }) => [`${prefix}${name.toLowerCase()}`, [...value]]));

// biome-ignore lint/suspicious/noExplicitAny: the overloads of two kinds of streams, passed through as they are.
type Writing = { write: (...all: any[]) => any; end: (...all: any[]) => any };

function addToBody(into: Writing, about: Aside, manner: Manner): void {
  if (manner === "grpc" || manner === "connect unary") return;
  const { write, end } = into;
  const more = (part: unknown) => (part instanceof Uint8Array ? withTrailers(Buffer.from(part), about, manner) : part);
  into.write = (part: unknown, ...rest: unknown[]) => write.call(into, more(part), ...rest);
  into.end = (part: unknown, ...rest: unknown[]) => end.call(into, more(part), ...rest);
}

function withTrailers(body: Buffer, about: Aside, manner: "grpc-web" | "connect stream"): Buffer {
  if (body.length < 5) return body;
  const end = 5 + body.readUInt32BE(1);
  if (end > body.length) throw new Error("a frame was written in parts");
  const last = manner === "grpc-web" ? 0x80 : 0x02;
  const rest = withTrailers(body.subarray(end), about, manner);
  const flags = body[0] ?? 0;
  if ((flags & ~1) !== last) return Buffer.concat([body.subarray(0, end), rest]);
  const text = (flags & 1 ? inflated(body.subarray(5, end)) : body.subarray(5, end)).toString();
  return framed(last, manner === "grpc-web" ? linesWith(text, about) : jsonWith(text, about));
}

const inflated = (bytes: Buffer) => (bytes[0] === 0x1f ? gunzipSync(bytes) : brotliDecompressSync(bytes));

function linesWith(text: string, { trailers }: Aside): string {
  return text + trailers.flatMap(({ name, value }) => value.map((one) => `${name.toLowerCase()}: ${one}\r\n`)).join("");
}

function jsonWith(text: string, { trailers }: Aside): string {
  const ending = JSON.parse(text);
  return JSON.stringify({ ...ending, metadata: { ...ending.metadata, ...fieldsOf(trailers) } });
}

function framed(flags: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const prefix = Buffer.of(flags, 0, 0, 0, 0);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}
