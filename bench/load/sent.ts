import { requestOf } from "../../test/fixture/recipes.ts";
import type { Load } from "./generator.ts";

/** The headers that all calls over HTTP/2 have; undefined when they go over HTTP/1.1. */
export function headOf(load: Load): Readonly<Record<string, string>> | undefined {
  const authority = new URL(load.url).host;
  if ("shot" in load) {
    const { http, path, headers } = load.shot;
    return http === "2" ? { ...pseudo(path, authority), ...headers } : undefined;
  }
  if (load.protocol === "json") return undefined;
  const { rpc } = requestOf(load.recipe, 0);
  const grpc = { "content-type": "application/grpc", te: "trailers", authorization: `Bearer ${load.token}` };
  return { ...pseudo(rpc, authority), ...grpc };
}

const pseudo = (path: string, authority: string) => ({
  ...{ ":method": "POST", ":scheme": "http", ":path": path, ":authority": authority },
});

/** What the call with this number sends over HTTP/2. */
export function bodiesOf(load: Load): (n: number) => Uint8Array {
  if ("shot" in load) return () => load.shot.body;
  return (n) => envelope(requestOf(load.recipe, n).message());
}

function envelope(message: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(5 + message.length);
  body[0] = 0;
  body.writeUInt32BE(message.length, 1);
  body.set(message, 5);
  return body;
}

/** The whole of the call with this number as it is written over HTTP/1.1. */
export function writtenOf(load: Load): (n: number) => string | Buffer {
  const { host } = new URL(load.url);
  if ("shot" in load) {
    const { path, headers, body } = load.shot;
    const about = fields({ host, ...headers, "content-length": String(body.length) });
    const whole = Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${about}\r\n`), body]);
    return () => whole;
  }
  const { recipe, token } = load;
  const common = fields({ host, authorization: `Bearer ${token}` });
  return (n) => {
    const { method, path, body } = requestOf(recipe, n);
    const json = body === undefined ? "" : JSON.stringify(body);
    const about = body === undefined ? "" : `content-type: application/json\r\ncontent-length: ${json.length}\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${common}${about}\r\n${json}`;
  };
}

const fields = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
