import { connect } from "node:http2";
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { BadRequestSchema, ErrorInfoSchema, LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Answer } from "../harness.ts";

/** A client of one protocol, in one format, over one version of HTTP. */
export type Way = { readonly name: string; readonly open: (url: string, token?: string) => Transport };

const formats = [
  { format: "proto", useBinaryFormat: true },
  { format: "JSON", useBinaryFormat: false },
];

const doors = [
  { door: "gRPC", make: createGrpcTransport, httpVersion: "2" as const },
  { door: "gRPC-Web", make: createGrpcWebTransport, httpVersion: "1.1" as const },
  { door: "gRPC-Web over HTTP/2", make: createGrpcWebTransport, httpVersion: "2" as const },
  { door: "Connect", make: createConnectTransport, httpVersion: "1.1" as const },
  { door: "Connect over HTTP/2", make: createConnectTransport, httpVersion: "2" as const },
];

/** Every door that has a client of its own. */
export const ways: readonly Way[] = doors.flatMap(({ door, make, httpVersion }) =>
  formats.map(({ format, useBinaryFormat }) => ({
    name: `${door} ${format}`,
    open: (url, token) =>
      make({ baseUrl: url, httpVersion, useBinaryFormat, interceptors: token ? [bearer(token)] : [] }),
  })),
);

const bearer =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };

/** The refusal that a call ends with. */
export async function refusal(answer: Promise<unknown>): Promise<ConnectError> {
  const error = await answer.then(
    () => new Error("it was not refused"),
    (thrown) => thrown,
  );
  if (error instanceof ConnectError) return error;
  throw error;
}

/** What a refusal says, in the same words for every protocol. */
export const said = (error: ConnectError) => ({
  code: Code[error.code],
  message: error.rawMessage,
  reason: error.findDetails(ErrorInfoSchema)[0]?.reason,
  fields: error.findDetails(BadRequestSchema)[0]?.fieldViolations.map(({ field, reason }) => `${field} ${reason}`),
  local: error.findDetails(LocalizedMessageSchema)[0]?.message,
});

/** The same of a problem over REST. */
export function told({ body }: Answer): ReturnType<typeof said> {
  const all = Object.assign({}, ...[...body.details].reverse());
  const fields = all.fieldViolations?.map((one: { field: string; reason: string }) => `${one.field} ${one.reason}`);
  const local = body.details.find((one: object) => "locale" in one)?.message;
  return { code: Code[body.code] ?? "", message: body.message, reason: all.reason, fields, local };
}

/** What came back over a bare stream of HTTP/2. */
export type Raw = { readonly status: number; readonly headers: Record<string, string>; readonly body: Buffer };

/** Makes one request over HTTP/2 with prior knowledge, without a client that could mend it. */
export async function raw(url: string, headers: Record<string, string>, body?: string | Uint8Array): Promise<Raw> {
  const session = connect(url).on("error", () => {});
  try {
    const stream = session.request({ ":method": body === undefined ? "GET" : "POST", ...headers });
    const all: Record<string, string> = {};
    stream.on("response", (given) => Object.assign(all, given)).on("trailers", (given) => Object.assign(all, given));
    stream.end(body);
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part);
    return { status: Number(all[":status"]), headers: all, body: Buffer.concat(parts) };
  } finally {
    session.destroy();
  }
}

/** A message in the envelope of gRPC and streaming Connect. */
export function framed(message: string | Uint8Array, flags = 0): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(message);
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}
