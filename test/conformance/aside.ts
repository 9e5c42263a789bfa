import { AsyncLocalStorage } from "node:async_hooks";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createContextKey } from "@connectrpc/connect";
import type { Exchange, Sent, Whole } from "../../packages/gateway/src/http/exchange.ts";
import type { Lane } from "../../packages/gateway/src/rpc/lane/lane.ts";
import type { Fields } from "../../packages/gateway/src/rpc/protocols/protocol.ts";
import { frame, readFrame } from "../wire/frame.ts";

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
  return (exchange) => {
    const about = asideOf(exchange.headers, exchange.target);
    asides.enterWith(about);
    addTo(exchange, about, mannerOf(exchange.headers));
    return lane?.(exchange) ?? false;
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

/** As a test may do it: what the server takes for its own is wrapped. */
function addTo(exchange: Exchange, about: Aside, manner: Manner): void {
  const { answer, begin, write, finish } = exchange;
  const trailed = (trailers: Sent | undefined) => trailers && { ...trailers, ...fieldsOf(about.trailers) };
  const more = (part: Uint8Array) => partWith(part, about, manner);
  Object.assign(exchange, {
    answer(given: Whole) {
      const { status, headers, body, trailers } = withHeaders(given, about, manner);
      const whole = typeof body === "string" ? Buffer.from(body) : body;
      const all = added(headers, about, manner);
      answer.call(exchange, { status, headers: all, body: whole && more(whole), trailers: trailed(trailers) });
    },
    begin: (status: number, headers: Sent) => begin.call(exchange, status, added(headers, about, manner)),
    write: (part: Uint8Array) => write.call(exchange, more(part)),
    finish: (trailers?: Sent) => finish.call(exchange, trailed(trailers)),
  });
}

/** With headers of its own, a refusal of gRPC cannot come as the only headers. */
function withHeaders(given: Whole, about: Aside, manner: Manner): Whole {
  if (manner !== "grpc" || !("grpc-status" in given.headers) || about.headers.length === 0) return given;
  const isStatus = (name: string) => ["grpc-status", "grpc-message", "grpc-status-details-bin"].includes(name);
  const pick = (which: boolean) => Object.entries(given.headers).filter(([name]) => isStatus(name) === which);
  return { ...given, headers: Object.fromEntries(pick(false)), trailers: Object.fromEntries(pick(true)) };
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

function partWith(part: Uint8Array, about: Aside, manner: Manner): Uint8Array {
  return manner === "grpc" || manner === "connect unary" ? part : withTrailers(Buffer.from(part), about, manner);
}

function withTrailers(body: Buffer, about: Aside, manner: "grpc-web" | "connect stream"): Buffer {
  if (body.length === 0) return body;
  const read = readFrame(body);
  if (!read) throw new Error("a frame was written in parts");
  const { flags, message } = read.frame;
  const last = manner === "grpc-web" ? 0x80 : 0x02;
  const rest = withTrailers(read.rest, about, manner);
  if ((flags & ~1) !== last) return Buffer.concat([frame(message, flags), rest]);
  const text = (flags & 1 ? inflated(message) : message).toString();
  return frame(manner === "grpc-web" ? linesWith(text, about) : jsonWith(text, about), last);
}

const inflated = (bytes: Buffer) => (bytes[0] === 0x1f ? gunzipSync(bytes) : brotliDecompressSync(bytes));

function linesWith(text: string, { trailers }: Aside): string {
  return text + trailers.flatMap(({ name, value }) => value.map((one) => `${name.toLowerCase()}: ${one}\r\n`)).join("");
}

function jsonWith(text: string, { trailers }: Aside): string {
  const ending = JSON.parse(text);
  return JSON.stringify({ ...ending, metadata: { ...ending.metadata, ...fieldsOf(trailers) } });
}
