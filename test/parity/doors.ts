import type { MessageShape } from "@bufbuild/protobuf";
import {
  createRegistry,
  type DescMessage,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { type AnySchema, MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { restRequest } from "../fixture/rest_call.ts";
import { type Frame, frame, readFrames } from "../wire/frame.ts";
import {
  type Fields,
  fieldsOf,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  readTrailers,
} from "../wire/http.ts";
import { connectHttp1 } from "../wire/http1.ts";
import { connectHttp2 } from "../wire/http2.ts";
import { readStatus } from "../wire/refusal.ts";
import { type Packing, packed, packingHeaders, unpacked as unpackedBytes } from "./packing.ts";

/** Bytes in place of a written message, for requests that no client would write. */
export type Raw = { readonly json?: string | Uint8Array; readonly binary?: Uint8Array };

/** A call in a form that every door can convert to its own. */
export type DoorCall = {
  readonly method: DescMethod;
  /** The request as proto3 JSON. */
  readonly request: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  readonly raw?: Raw | undefined;
  readonly packing?: Packing | undefined;
};

/** An answer in one form for all doors. */
export type DoorAnswer = {
  readonly code: string;
  readonly message: string;
  readonly reason: string | undefined;
  /** Each wrong field, as `path REASON description`. */
  readonly violations: readonly string[];
  /** Every detail of a refusal as proto3 JSON. */
  readonly details: readonly JsonValue[];
  /** The answer as proto3 JSON. */
  readonly body: JsonValue | undefined;
  /** The encoding of the answer. */
  readonly encoding?: string | undefined;
};

/** A way to call the service. */
export type Door = {
  readonly name: string;
  readonly format: "json" | "binary";
  /** The header that says how long the caller waits. */
  readonly timeout: "grpc-timeout" | "connect-timeout-ms";
  /** The reason why a call cannot go through this door; undefined if it can. */
  readonly shut: (method: DescMethod) => string | undefined;
  /** The reason why only the gateway has this door; undefined if connect-es serves the protocol as well. */
  readonly gatewayOnly?: string | undefined;
  readonly ask: (call: DoorCall) => Promise<DoorAnswer>;
};

/** The addresses of a server, which may have a port for each version of HTTP. */
export type Ports = { readonly http1: string; readonly http2: string };

/** The doors of a server, open. */
export type Doors = Disposable & {
  readonly all: readonly Door[];
  /** Each protocol in each format that is read by itself, and each version of HTTP. */
  readonly first: readonly Door[];
};

/** Opens every door of a server; `onResponse` is given the bytes of each answer. */
export function openDoors(url: string | Ports, onResponse?: (response: HttpResponse) => void): Doors {
  const { http1, http2 } = typeof url === "string" ? { http1: url, http2: url } : url;
  const stack = new DisposableStack();
  const one = { over: "HTTP/1.1", ...watched(stack.use(connectHttp1(http1)), onResponse) };
  const two = { over: "HTTP/2", ...watched(stack.use(connectHttp2(http2)), onResponse) };
  const first = [
    { ...door("REST", "json", one, rest), gatewayOnly: noRest },
    { ...door("plain JSON on the rpc path", "json", two, plain), gatewayOnly: asConnect },
    door("Connect JSON", "json", one, connectPost("json")),
    door("Connect binary", "binary", two, connectPost("binary")),
    { ...door("Connect GET binary", "binary", one, connectGet("binary")), shut: unlessRead },
    door("gRPC-Web binary", "binary", two, grpcWeb("binary", false)),
    { ...door("gRPC-Web text", "binary", one, grpcWeb("binary", true)), gatewayOnly: noText },
    door("gRPC binary", "binary", two, grpc("binary")),
    door("gRPC JSON", "json", two, grpc("json")),
  ];
  // What the first ones have, combined otherwise. The version of HTTP and the format are read apart, so not every pair of them is tried.
  const further = [
    { ...door("REST", "json", two, rest), gatewayOnly: noRest },
    { ...door("plain JSON on the rpc path", "json", one, plain), gatewayOnly: asConnect },
    door("Connect binary", "binary", one, connectPost("binary")),
    { ...door("Connect GET binary", "binary", two, connectGet("binary")), shut: unlessRead },
    { ...door("Connect GET JSON", "json", two, connectGet("json")), shut: unlessRead },
    door("gRPC-Web binary", "binary", one, grpcWeb("binary", false)),
    door("gRPC-Web JSON", "json", two, grpcWeb("json", false)),
    { ...door("gRPC-Web text JSON", "json", two, grpcWeb("json", true)), gatewayOnly: noText },
  ];
  return { first, all: [...first, ...further], [Symbol.dispose]: () => stack.dispose() };
}

const noRest = "connect-es knows no google.api.http";
const asConnect = "connect-es takes JSON on the path of an rpc for Connect, and refuses it in the words of Connect";
const noText = "connect-es knows no application/grpc-web-text";

function watched({ send, ...client }: HttpClient, onResponse: (response: HttpResponse) => void = () => {}): HttpClient {
  const watchedSend: HttpClient["send"] = async (request) => {
    const response = await send(request);
    onResponse(response);
    return response;
  };
  return { ...client, send: watchedSend };
}

type Format = Door["format"];

type Manner = {
  readonly write: (call: DoorCall) => HttpRequest;
  readonly read: (response: HttpResponse, output: DescMessage) => DoorAnswer;
};

type DoorClient = Pick<HttpClient, "send"> & { readonly over: string };

function door(protocol: string, format: Format, { over, send }: DoorClient, { write, read }: Manner): Door {
  const ask = async (call: DoorCall) => read(await send(write(call)), call.method.output);
  const timeout = protocol.startsWith("gRPC") ? "grpc-timeout" : "connect-timeout-ms";
  return { name: `${protocol} over ${over}`, format, timeout, shut: () => undefined, ask };
}

const unlessRead = ({ idempotency }: DescMethod) =>
  idempotency === Idempotency.NO_SIDE_EFFECTS ? undefined : "only reads may be asked for by GET";

const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;

const rest: Manner = {
  write(call) {
    const { verb, path, body } = restRequest(call.method, call.request);
    const bytes = call.raw?.json ?? (body === undefined ? "" : JSON.stringify(body));
    const packing = body === undefined ? { ...call.packing, request: undefined } : call.packing;
    return {
      method: verb,
      path,
      headers: { ...call.headers, ...packingHeaders(packing), ...jsonType(body !== undefined) },
      body: packed(Buffer.from(bytes), packing),
    };
  },
  read: readPlain,
};

const jsonType = (hasBody: boolean) => (hasBody ? { "content-type": "application/json" } : undefined);

const plain: Manner = {
  write: (call) => post(call, "application/json", packedIn("json", call), packingHeaders(call.packing)),
  read: readPlain,
};

function readPlain({ status, ...response }: HttpResponse, output: DescMessage): DoorAnswer {
  const { bytes, encoding } = contentOf(response);
  const json = JSON.parse(bytes.toString());
  return status === 200 ? answered(output, json, encoding) : refused(json.code, json.message, json.details);
}

function contentOf({ headers, body }: Pick<HttpResponse, "headers" | "body">) {
  const encoding = headers["content-encoding"];
  return { encoding, bytes: unpackedBytes(body, encoding) };
}

function connectPost(format: Format): Manner {
  const type = format === "json" ? "application/json" : "application/proto";
  return {
    write(call) {
      const headers = { "connect-protocol-version": "1", ...packingHeaders(call.packing) };
      return post(call, type, packedIn(format, call), headers);
    },
    read: (response, output) => readConnect(response, output, format),
  };
}

function connectGet(format: Format): Manner {
  return {
    write(call) {
      const { request: compression, ...accepting } = call.packing ?? {};
      const text = format === "json" && compression === undefined;
      const message = packedIn(format, call).toString(text ? "utf8" : "base64url");
      const encoding = { encoding: format === "json" ? "json" : "proto", ...(!text && { base64: "1" }) };
      const query = new URLSearchParams({ connect: "v1", ...encoding, message, ...(compression && { compression }) });
      const headers = { ...call.headers, ...packingHeaders(accepting) };
      return { method: "GET", path: `${pathOf(call.method)}?${query}`, headers, body: Buffer.of() };
    },
    read: (response, output) => readConnect(response, output, format),
  };
}

function readConnect({ status, ...response }: HttpResponse, output: DescMessage, format: Format): DoorAnswer {
  const { bytes, encoding } = contentOf(response);
  if (status === 200) return answered(output, readMessage(output, format, bytes), encoding);
  const { code, message = "", details = [] } = JSON.parse(bytes.toString());
  const any = (details as { type: string; value: string }[]).map(({ type, value }) =>
    unpacked(type, Buffer.from(value, "base64")),
  );
  return refused(codeByName(code), message, any);
}

function codeByName(name: string): number {
  const spelt = name.replaceAll("_", "").toLowerCase();
  return Object.entries(Code).find(([key]) => key.toLowerCase() === spelt)?.[1] as number;
}

function grpc(format: Format): Manner {
  const type = `application/grpc${format === "json" ? "+json" : ""}`;
  return {
    write: (call) => post(call, type, framedIn(format, call), { te: "trailers", ...grpcPacking(call) }),
    read(response, output) {
      const fields = fieldsOf(response);
      return readGrpc(fields, format, { output, frame: readFrames(response.body)[0], first: fields });
    },
  };
}

function grpcWeb(format: Format, text: boolean): Manner {
  const type = `application/grpc-web${text ? "-text" : ""}+${format === "json" ? "json" : "proto"}`;
  return {
    write(call) {
      const bytes = framedIn(format, call);
      const headers = { "x-grpc-web": "1", ...grpcPacking(call) };
      return post(call, type, text ? Buffer.from(bytes.toString("base64")) : bytes, headers);
    },
    read({ headers: first, body }, output) {
      const frames = readFrames(text ? Buffer.from(body.toString(), "base64") : body);
      const fields = readTrailers(frames.find(({ flags }) => flags === 0x80)?.message ?? Buffer.of());
      return readGrpc(fields, format, { output, frame: frames.find(({ flags }) => (flags & 0x80) === 0), first });
    },
  };
}

type Answered = { readonly output: DescMessage; readonly frame: Frame | undefined; readonly first: Fields };

function readGrpc(fields: Fields, format: Format, { output, frame, first }: Answered): DoorAnswer {
  if (fields["grpc-status"] === "0" && frame) {
    const encoding = frame.flags & 1 ? first["grpc-encoding"] : undefined;
    return answered(output, readMessage(output, format, unpackedBytes(frame.message, encoding)), encoding);
  }
  const status = readStatus(fields);
  const message = decodeURIComponent(fields["grpc-message"] ?? "");
  if (`${status.code}` !== fields["grpc-status"] || status.message !== message)
    throw new Error(
      `grpc-status ${fields["grpc-status"]} ${message}, but its details say ${status.code} ${status.message}`,
    );
  return refused(status.code, message, status.details.map(unpackedAny));
}

const unpackedAny = ({ typeUrl, value }: MessageShape<typeof AnySchema>) =>
  unpacked(typeUrl.split("/")[1] ?? "", value);

function unpacked(name: string, bytes: Uint8Array): JsonValue {
  const type = registry.getMessage(name);
  if (!type) throw new Error(`a detail of an unknown type ${name}`);
  const json = toJson(type, fromBinary(type, bytes), { alwaysEmitImplicit: true }) as JsonObject;
  return { "@type": `type.googleapis.com/${name}`, ...json };
}

const registry = createRegistry(file_google_rpc_error_details);

function post(call: DoorCall, type: string, body: Buffer, headers: Fields = {}): HttpRequest {
  const all = { ...call.headers, ...headers, "content-type": type };
  return { method: "POST", path: pathOf(call.method), headers: all, body };
}

function messageIn(format: Format, { method, request, raw }: DoorCall): Buffer {
  const instead = raw?.[format];
  if (instead !== undefined) return Buffer.from(instead);
  if (format === "json") return Buffer.from(JSON.stringify(request));
  return Buffer.from(toBinary(method.input, fromJson(method.input, request)));
}

const packedIn = (format: Format, call: DoorCall) => packed(messageIn(format, call), call.packing);
const framedIn = (format: Format, call: DoorCall) =>
  frame(packedIn(format, call), (call.packing?.request ?? "identity") === "identity" ? 0 : 1);
const grpcPacking = ({ packing }: DoorCall) => packingHeaders(packing, "grpc");

function readMessage(type: DescMessage, format: Format, bytes: Buffer): JsonValue {
  if (format === "json") return JSON.parse(bytes.toString());
  return toJson(type, fromBinary(type, bytes), { alwaysEmitImplicit: true, registry });
}

function answered(output: DescMessage, body: JsonValue, encoding?: string): DoorAnswer {
  // Reading it as its type shows that it is what the contract says.
  fromJson(output, body, { registry });
  return { code: "OK", message: "", reason: undefined, violations: [], details: [], body, encoding };
}

type Detail = { "@type": string; reason?: string; fieldViolations?: Record<string, string>[] };

function refused(code: number, message: string, details: JsonValue[]): DoorAnswer {
  const all = details as unknown as Detail[];
  const violations = all.flatMap(({ fieldViolations = [] }) => fieldViolations);
  return {
    code: Code[code] ?? `${code}`,
    message,
    reason: all.find(({ "@type": type }) => type.endsWith(".ErrorInfo"))?.reason,
    violations: violations.map(({ field, reason, description }) => `${field} ${reason} ${description}`),
    details,
    body: undefined,
  };
}
