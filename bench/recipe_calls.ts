import type { Calls } from "../packages/gateway/bench/load/generator.ts";
import { fieldLines, pseudo } from "../packages/gateway/bench/load/shot.ts";
import { type Recipe, type Request, requestOf } from "../test/fixture/recipes.ts";

/** Calls by a recipe, each with a number of its own. */
export type RecipeCalls = {
  readonly protocol: "grpc" | "json";
  readonly recipe: Recipe;
  readonly token: string;
};

/** Makes the calls; the thread that sends them imports this. */
export function callsOf(options: unknown, url: string): Calls {
  const { protocol, recipe, token } = options as RecipeCalls;
  const requests = (n: number) => requestOf(recipe, n);
  return protocol === "json" ? restCalls(requests, { url, token }) : grpcCalls(requests, { url, token });
}

type Target<T extends Calls> = { readonly url: string; readonly token: string } & Pick<T, "isRight">;
type GrpcCalls = Extract<Calls, { http: "2" }>;
type RestCalls = Extract<Calls, { http: "1" }>;
type GrpcRequest = Pick<Request, "rpc" | "message">;
type RestRequest = Pick<Request, "method" | "path" | "body">;

/** The calls of these requests over gRPC. */
export function grpcCalls(requests: (n: number) => GrpcRequest, { url, token, ...look }: Target<GrpcCalls>): GrpcCalls {
  const grpc = { "content-type": "application/grpc", te: "trailers", authorization: `Bearer ${token}` };
  return {
    ...{ http: "2", ...look },
    fields: { ...pseudo(requests(0).rpc, new URL(url).host), ...grpc },
    body: (n) => envelope(requests(n).message()),
  };
}

/** The same as JSON over HTTP/1.1. */
export function restCalls(requests: (n: number) => RestRequest, { url, token, ...look }: Target<RestCalls>): RestCalls {
  const headers = { host: new URL(url).host, authorization: `Bearer ${token}` };
  return { http: "1", bytes: restBytes(requests, headers), ...look };
}

function restBytes(
  requests: (n: number) => RestRequest,
  headers: Readonly<Record<string, string>>,
): (n: number) => string {
  const common = fieldLines(headers);
  return (n) => {
    const { method, path, body } = requests(n);
    const json = body === undefined ? "" : JSON.stringify(body);
    const lines = body === undefined ? "" : `content-type: application/json\r\ncontent-length: ${json.length}\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${common}${lines}\r\n${json}`;
  };
}

function envelope(message: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(5 + message.length);
  body[0] = 0;
  body.writeUInt32BE(message.length, 1);
  body.set(message, 5);
  return body;
}
