import type { DescMethod } from "@bufbuild/protobuf";
import { GatewayError } from "../errors/gateway_error.ts";
import type { Fields } from "../header_fields.ts";
import { negotiateConnect } from "./protocols/connect.ts";
import { negotiateGrpc } from "./protocols/grpc.ts";
import { negotiateGrpcWeb } from "./protocols/grpc_web.ts";
import type { Negotiated } from "./protocols/protocol.ts";
import type { RpcMethod } from "./rpc_method.ts";

/** The protocol that a request names, and its codec if known. */
export type NamedProtocol = {
  readonly family: "grpc" | "grpc-web" | "connect" | "connect stream";
  /** Undefined for an unknown codec. */
  readonly negotiated: Negotiated | undefined;
};

/** The error for a content type that the rpc does not support, naming those it does. */
export const unsupportedType = ({ kind, method }: RpcMethod): GatewayError =>
  new GatewayError("UNSUPPORTED_CONTENT_TYPE", {
    params: {
      supported: [...enveloped, ...(kind === "unary" ? unaryTypes : streamTypes(method.methodKind))].join(", "),
    },
  });

const enveloped = ["application/grpc", "application/grpc-web"];
const unaryTypes = ["application/proto", "application/json"];
const streamTypes = (kind: DescMethod["methodKind"]) => [
  ...["application/connect+proto", "application/connect+json"],
  // JSON without envelopes has a single request message.
  ...(kind === "server_streaming" ? ["application/json"] : []),
];

const families = /^\s*application\/(grpc-web-text|grpc-web|grpc|connect|proto)(?![\w.-])/i;

// The content types that most clients send; others are parsed each time.
const usual: ReadonlyMap<string, NamedProtocol | undefined> = new Map(
  [
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web+proto",
    "application/grpc-web",
    "application/proto",
  ].map((type) => [type, read(type, {})]),
);

/** Recognizes the protocol of a POST by its content type; undefined for JSON over HTTP. */
export function protocolNamed(headers: Fields): NamedProtocol | undefined {
  const type = headers["content-type"] ?? "";
  return usual.get(type) ?? read(type.trim(), headers);
}

function read(type: string, headers: Fields): NamedProtocol | undefined {
  switch (families.exec(type)?.[1]?.toLowerCase()) {
    case "grpc":
      return { family: "grpc", negotiated: negotiateGrpc(type) };
    case "grpc-web":
    case "grpc-web-text":
      return { family: "grpc-web", negotiated: negotiateGrpcWeb(type) };
    case "connect":
      return { family: "connect stream", negotiated: negotiateConnect(type, headers) };
    case "proto":
      return { family: "connect", negotiated: negotiateConnect(type, headers) };
    default:
      if (headers["connect-protocol-version"] === undefined) return undefined;
      return { family: "connect", negotiated: negotiateConnect(type, headers) };
  }
}
