import type { Calls } from "../packages/gateway/bench/load/generator.ts";
import { fieldLines, pseudo } from "../packages/gateway/bench/load/shot.ts";
import { type Recipe, requestOf } from "../test/fixture/recipes.ts";

/** Calls by a recipe, each with a number of its own. */
export type RecipeCalls = {
  readonly protocol: "grpc" | "json";
  readonly recipe: Recipe;
  readonly token: string;
};

/** Makes the calls; the thread that sends them imports this. */
export function callsOf(options: unknown, url: string): Calls {
  const { protocol, recipe, token } = options as RecipeCalls;
  const { host } = new URL(url);
  if (protocol === "json") return { http: "1", bytes: restBytes(recipe, { host, authorization: `Bearer ${token}` }) };
  const grpc = { "content-type": "application/grpc", te: "trailers", authorization: `Bearer ${token}` };
  return {
    http: "2",
    fields: { ...pseudo(requestOf(recipe, 0).rpc, host), ...grpc },
    body: (n) => envelope(requestOf(recipe, n).message()),
  };
}

function restBytes(recipe: Recipe, headers: Readonly<Record<string, string>>): (n: number) => string {
  const common = fieldLines(headers);
  return (n) => {
    const { method, path, body } = requestOf(recipe, n);
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
