import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { connectDialect } from "./connect.ts";
import { grpcDialect } from "./grpc.ts";
import { grpcWebDialect } from "./grpc_web.ts";
import { carryHttp1 } from "./http1.ts";
import { carryHttp2 } from "./http2.ts";
import type { Dialect, Fields } from "./protocol.ts";
import type { Known, LaneParts } from "./visit.ts";

/** The fast way for unary calls; each function says whether it took the call. */
export type Lane = {
  readonly stream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;
  readonly request: (request: IncomingMessage, response: ServerResponse) => boolean;
};

/** Builds the lane: unary gRPC, gRPC-Web and Connect by POST, each read whole and answered in one write. */
export function lane(parts: LaneParts): Lane {
  const table = knownOf(parts);
  return {
    stream(stream, headers) {
      const known = headers[":method"] === "POST" && table.get(headers[":path"] ?? "");
      const dialect = known ? dialectOf(headers, true) : undefined;
      if (!known || !dialect) return false;
      carryHttp2(stream, { parts, known, dialect, headers });
      return true;
    },
    request(request, response) {
      const { method, url, headers } = request;
      const known = method === "POST" && table.get(url ?? "");
      const dialect = known ? dialectOf(headers, false) : undefined;
      if (!known || !dialect) return false;
      carryHttp1(request, response, { parts, known, dialect, headers });
      return true;
    },
  };
}

function knownOf({ operations, rules }: LaneParts): ReadonlyMap<string, Known> {
  const unary = [...operations.values()].flatMap((operation): Known[] =>
    operation.kind === "unary" ? [{ operation, rules: rules(operation.method.input) }] : [],
  );
  return new Map(unary.map((known) => [known.operation.path, known]));
}

function dialectOf(headers: Fields, http2: boolean): Dialect | undefined {
  const type = headers["content-type"];
  if (typeof type !== "string") return undefined;
  return (http2 ? grpcDialect(type) : undefined) ?? connectDialect(type, headers) ?? grpcWebDialect(type);
}
