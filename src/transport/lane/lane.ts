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
  const isSound = authorities();
  return {
    stream(stream, headers) {
      const known = headers[":method"] === "POST" && table.get(headers[":path"] ?? "");
      const dialect = known ? dialectOf(headers, true) : undefined;
      if (!known || !dialect || !isSound(headers[":authority"] ?? headers.host)) return false;
      carryHttp2(stream, { parts, known, dialect, headers });
      return true;
    },
    request(request, response) {
      const { method, url, headers, rawHeaders } = request;
      const known = method === "POST" && table.get(url ?? "");
      const dialect = known ? dialectOf(headers, false) : undefined;
      if (!known || !dialect || !isSound(headers.host) || isOdd(rawHeaders)) return false;
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

const mostHeaders = 64;

/** Whether there are more headers than allowed, or more hosts than one: for the door to refuse. */
function isOdd(rawHeaders: readonly string[]): boolean {
  if (rawHeaders.length > 2 * mostHeaders) return true;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts !== 1;
}

/** Tells whether an authority is one beyond doubt; the last one is remembered, as most clients say the same. */
function authorities(): (authority: string | undefined) => boolean {
  let last: string | undefined;
  return (authority) => {
    if (authority === undefined) return false;
    if (authority === last) return true;
    const sound = /^(\[[\da-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?$/.test(authority) && URL.canParse(`http://${authority}`);
    if (sound) last = authority;
    return sound;
  };
}
