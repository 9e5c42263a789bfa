import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createContextKey } from "@connectrpc/connect";
import type { Sent } from "../../src/transport/h2/hpack/encoder.ts";
import type { Stream } from "../../src/transport/h2/stream.ts";
import type { Lane } from "../../src/transport/lane/lane.ts";
import type { Fields } from "../../src/transport/lane/protocol.ts";

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
    stream(stream) {
      const about = asideOf(stream.headers, stream.headers[":path"]);
      asides.enterWith(about);
      addToStream(stream, about, mannerOf(stream.headers));
      return lane?.stream(stream) ?? false;
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

function mannerOf(headers: Fields): Manner {
  const type = String(headers["content-type"] ?? "");
  if (type.startsWith("application/grpc-web")) return "grpc-web";
  if (type.startsWith("application/grpc")) return "grpc";
  return type.startsWith("application/connect+") ? "connect stream" : "connect unary";
}

function asideOf(fields: Fields, target = ""): Aside {
  const headers = Object.entries(fields).filter(([name]) => !name.startsWith(":"));
  const parameters = new URLSearchParams(target.split("?")[1] ?? "");
  return {
    requestHeaders: headers.map(([name, value]) => ({ name, value: [value ?? []].flat() })),
    query: [...new Set(parameters.keys())].map((name) => ({ name, value: parameters.getAll(name) })),
    headers: [],
    trailers: [],
  };
}

function addToStream(stream: Stream, about: Aside, manner: Manner): void {
  const { answer, begin, write, finish } = stream;
  const trailed = (trailers: Sent | undefined) => trailers && { ...trailers, ...fieldsOf(about.trailers) };
  const more = (part: Uint8Array) => partWith(part, about, manner);
  stream.answer = ({ status, headers, body, trailers }) =>
    answer.call(stream, {
      status,
      headers: added(headers, about, manner),
      body: body && more(body),
      trailers: trailed(trailers),
    });
  stream.begin = (status, headers) => begin.call(stream, status, added(headers, about, manner));
  stream.write = (part) => write.call(stream, more(part));
  stream.finish = (trailers) => finish.call(stream, trailed(trailers));
}

function addToResponse(response: ServerResponse<IncomingMessage>, about: Aside, manner: Manner): void {
  const { writeHead } = response;
  response.writeHead = (status: number, headers: unknown) =>
    writeHead.call(response, status, added(headers as Sent, about, manner) as OutgoingHttpHeaders);
  addToBody(response, about, manner);
}

function added(headers: Sent, about: Aside, manner: Manner): Sent {
  const all: Record<string, Sent[string]> = { ...headers, ...fieldsOf(about.headers) };
  if (manner === "connect unary") return { ...all, ...fieldsOf(about.trailers, "trailer-") };
  if (manner === "grpc") return "grpc-status" in headers ? { ...all, ...fieldsOf(about.trailers) } : all;
  // The trailers at the end of the body make it longer.
  delete all["content-length"];
  return all;
}

const fieldsOf = (headers: readonly Header[], prefix = "") =>
  Object.fromEntries(headers.map(({ name, value }) => [`${prefix}${name.toLowerCase()}`, [...value]]));

// biome-ignore lint/suspicious/noExplicitAny: the overloads of Node, passed through as they are.
type Writing = { write: (...all: any[]) => any; end: (...all: any[]) => any };

function addToBody(into: Writing, about: Aside, manner: Manner): void {
  const { write, end } = into;
  const more = (part: unknown) => (part instanceof Uint8Array ? partWith(part, about, manner) : part);
  into.write = (part: unknown, ...rest: unknown[]) => write.call(into, more(part), ...rest);
  into.end = (part: unknown, ...rest: unknown[]) => end.call(into, more(part), ...rest);
}

function partWith(part: Uint8Array, about: Aside, manner: Manner): Uint8Array {
  return manner === "grpc" || manner === "connect unary" ? part : withTrailers(Buffer.from(part), about, manner);
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
