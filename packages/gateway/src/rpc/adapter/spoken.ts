import {
  headerStreamAcceptEncoding,
  headerStreamEncoding,
  parseContentType,
} from "@connectrpc/connect/protocol-connect";
import { open, prefixBytes } from "../../codec/envelope.ts";
import { connectDialect } from "../protocols/connect.ts";
import { grpcDialect } from "../protocols/grpc.ts";
import { grpcWebDialect } from "../protocols/grpc_web.ts";
import type { Fields, Protocol } from "../protocols/protocol.ts";
import type { Located } from "../request.ts";

/** Which protocol a request speaks, and in which format. */
export type Spoken = {
  readonly family: "grpc" | "grpc-web" | "connect unary" | "connect stream";
  /** Whether the message is in the query. */
  readonly inQuery: boolean;
  readonly json: boolean;
  /** Whether everything is in base64. */
  readonly text: boolean;
  /** Undefined for a format that nobody here can read. */
  readonly protocol: Pick<Protocol, "encodingHeader" | "acceptHeader" | "timeout" | "around" | "open"> | undefined;
};

const asks = ["content-type", "grpc-timeout", "connect-timeout-ms", "connect-protocol-version"];

/** The headers of a request that a protocol looks at. */
export function fieldsOf({ headers }: Located): Fields {
  return Object.fromEntries(asks.map((name) => [name, headers.get(name) ?? undefined]));
}

/** Recognizes the protocol of a request; undefined for plain JSON over HTTP. */
export function spokenBy(asked: Located): Spoken | undefined {
  if (asked.method === "GET") return inQuery(new URLSearchParams(asked.query));
  const type = (asked.headers.get("content-type") ?? "").trim();
  const family = /^application\/(grpc-web-text|grpc-web|grpc|connect|proto)(?![\w.-])/i.exec(type)?.[1]?.toLowerCase();
  const fields = fieldsOf(asked);
  switch (family) {
    case "grpc":
      return spoken("grpc", grpcDialect(type));
    case "grpc-web":
    case "grpc-web-text":
      return { ...spoken("grpc-web", grpcWebDialect(type)), text: family === "grpc-web-text" };
    case "connect":
      return spoken("connect stream", connectStreamDialect(type));
    default:
      if (family === undefined && fields["connect-protocol-version"] === undefined) return undefined;
      return spoken("connect unary", connectDialect(type, fields));
  }
}

type Heard = { readonly protocol: NonNullable<Spoken["protocol"]>; readonly json: boolean } | undefined;

function spoken(family: Spoken["family"], dialect: Heard): Spoken {
  return { family, inQuery: false, json: dialect?.json ?? false, text: false, protocol: dialect?.protocol };
}

function inQuery(query: URLSearchParams): Spoken | undefined {
  if (!query.has("message") || !query.has("encoding")) return undefined;
  const encoding = query.get("encoding");
  const known = encoding === "json" || encoding === "proto";
  const type = encoding === "json" ? "application/json" : "application/proto";
  const dialect = known ? connectDialect(type, { "connect-protocol-version": "1" }) : undefined;
  return { ...spoken("connect unary", dialect), inQuery: true };
}

function connectStreamDialect(contentType: string): Heard {
  const type = parseContentType(contentType);
  if (!type?.stream) return undefined;
  const unary = connectDialect("application/proto", {});
  if (!unary) return undefined;
  const names = { encodingHeader: headerStreamEncoding, acceptHeader: headerStreamAcceptEncoding };
  const protocol = { ...names, timeout: unary.protocol.timeout, around: () => prefixBytes, open };
  return { protocol, json: !type.binary };
}
