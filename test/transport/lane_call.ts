import { connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  LocalizedMessageSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { path, type SampleLane, type Way } from "./lane_sample.ts";

/** Fields of the sample message. */
export type Sample = Readonly<Record<string, unknown>>;

/** Calls the sample rpc. */
export async function call(lane: SampleLane, way: Way, fields: Sample, options?: CallOptions): Promise<Sample> {
  const client = createClient(lane.service, way.transport(lane));
  const method = client.do as unknown as (request: Sample, options?: CallOptions) => Promise<Sample>;
  return await method(fields, options);
}

/** The refusal that a call ends with. */
export async function refused(answer: Promise<unknown>): Promise<ConnectError> {
  try {
    await answer;
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** What a refusal says, in the same words for every protocol. */
export function said(error: ConnectError) {
  const [info] = error.findDetails(ErrorInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  const [local] = error.findDetails(LocalizedMessageSchema);
  return {
    code: error.code,
    message: error.rawMessage,
    reason: info?.reason,
    metadata: info?.metadata,
    violations: bad?.fieldViolations.map(({ field, reason, description }) => `${field} ${reason} ${description}`),
    retrySeconds: retry && Number(retry.retryDelay?.seconds),
    local: local?.message,
  };
}

/** What came back over a bare stream of HTTP/2. */
export type Raw = {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** Posts bytes to the sample rpc, without a client that could mend them. */
export async function post(lane: SampleLane, body: Uint8Array, headers: OutgoingHttpHeaders): Promise<Raw> {
  const session = connect(lane.http2);
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  try {
    stream.end(body);
    return await heard(stream);
  } finally {
    session.destroy();
  }
}

/** Everything that a stream says until it ends. */
export async function heard(stream: ReturnType<ReturnType<typeof connect>["request"]>): Promise<Raw> {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  stream.on("response", (fields) => {
    headers = fields;
  });
  stream.on("trailers", (fields) => {
    trailers = fields;
  });
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return { headers, trailers, body: Buffer.concat(parts) };
}

/** A sample message in the binary format. */
export function binary({ service }: SampleLane, fields: Sample): Uint8Array {
  const [method] = service.methods;
  if (!method) throw new Error("the sample has no method");
  return toBinary(method.input, create(method.input, fields));
}

/** A message in its envelope. */
export function framed(message: Uint8Array | string, flags = 0): Buffer {
  const bytes = Buffer.from(message);
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** The code and the reason of a refusal in gRPC. */
export function statusIn({ headers, trailers }: Raw): string {
  const all = { ...headers, ...trailers };
  const details = Buffer.from(String(all["grpc-status-details-bin"] ?? ""), "base64").toString("latin1");
  return `${Code[Number(all["grpc-status"])]} ${/[A-Z]+(_[A-Z]+)+|INTERNAL|UNIMPLEMENTED|CANCELLED/.exec(details)?.[0] ?? ""}`;
}
