import { connect } from "node:http2";
import { connect as dial } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { machine, type Postern, sharedPostern } from "../harness.ts";

const addGrants = "/postern.v1.UserGrantService/AddUserGrants";
const watchEvents = "/postern.v1.EventService/WatchEvents";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const plain = { "content-type": "application/json" };
const doors: readonly [string, string, Record<string, string>][] = [
  ["REST", "/v1/user-grants:batchAdd", plain],
  ["plain JSON", addGrants, plain],
  ["Connect with JSON", addGrants, { ...plain, "connect-protocol-version": "1" }],
  ["Connect with binary messages", addGrants, { "content-type": "application/proto" }],
  ["gRPC-Web", addGrants, { "content-type": "application/grpc-web+proto" }],
  ["gRPC-Web in text", addGrants, { "content-type": "application/grpc-web-text" }],
  ["a stream of Connect", watchEvents, { "content-type": "application/connect+json" }],
  ["a stream of gRPC-Web", watchEvents, { "content-type": "application/grpc-web+proto" }],
];
const overHttp2: typeof doors = [
  ...doors,
  ["gRPC", addGrants, { "content-type": "application/grpc" }],
  ["a stream of gRPC", watchEvents, { "content-type": "application/grpc" }],
];
const tokens = { none: undefined, another: "x".repeat(40), mistyped: `ps_${"a".repeat(33)}` };

test.each(overHttp2)("%s over HTTP/2 refuses a caller without a body to wait for", async (_, path, headers) => {
  for (const token of Object.values(tokens)) {
    const text = await beginHttp2(postern.url, path, {
      ...headers,
      ...(token && { authorization: `Bearer ${token}` }),
    });
    expect(text).toMatch(/UNAUTHENTICATED|TOKEN_INVALID|"grpc-status":"16"|grpc-status: 16/);
  }
});

test.each(doors)("%s over HTTP/1.1 refuses a caller without a body to wait for", async (_, path, headers) => {
  for (const token of Object.values(tokens)) {
    const text = await beginHttp1(postern.url, path, {
      ...headers,
      ...(token && { authorization: `Bearer ${token}` }),
    });
    expect(text).toMatch(/UNAUTHENTICATED|TOKEN_INVALID|grpc-status: 16/);
  }
});

test("a client that asks before it sends a body is refused, and not told to go on", async () => {
  const text = await beginHttp1(postern.url, addGrants, { ...plain, expect: "100-continue" });
  expect(text).toMatch(/^HTTP\/1\.1 401 /);
});

test("no token is worth no decompression: a broken body is not looked at", async () => {
  const bomb = brotliCompressSync(`{"items":[${"1,".repeat(2_000_000)}1]}`);
  const headers = { ...plain, "content-encoding": "br" };
  for (const body of [bomb, Buffer.from("nothing of brotli")]) {
    const answer = await fetch(`${postern.url}/v1/user-grants:batchAdd`, { method: "POST", headers, body });
    expect(answer.status).toBe(401);
  }
});

test("a body that takes its time is of no use to a token that was revoked meanwhile", async () => {
  const robot = await machine(postern);
  const path = `/v1/users/${robot.userId}/phone`;
  const authorization = `Bearer ${robot.client.token}`;
  const slow = slowBody(postern.url, path, { ...plain, authorization }, '{"phone": "+41446681800"}');
  // Longer than what was found at the gate counts.
  await sleep(1500);
  expect((await postern.admin.delete(`/v1/users/${robot.userId}/tokens/${robot.tokenId}`)).status).toBe(200);
  expect(await slow.finish()).toMatch(/^HTTP\/1\.1 401 /);
});

/** Sends the headers of a request whose body never comes, and returns the answer. */
function beginHttp2(url: string, path: string, headers: Record<string, string>): Promise<string> {
  const session = connect(url).on("error", () => {});
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  const stream = session.request({ ":method": "POST", ":path": path, ...headers }, { endStream: false });
  const note = (fields: object) => {
    text += JSON.stringify(fields);
  };
  stream.on("response", note).on("trailers", note).on("error", reject);
  stream.on("data", (part: Buffer) => {
    text += part.toString("latin1");
    if (headers["content-type"] === "application/grpc-web-text")
      text += Buffer.from(part.toString(), "base64").toString("latin1");
  });
  stream.on("close", () => resolve(text));
  return promise.finally(() => session.destroy());
}

function beginHttp1(url: string, path: string, headers: Record<string, string>): Promise<string> {
  return slowBody(url, path, headers, " ".repeat(100)).heard;
}

function slowBody(url: string, path: string, headers: Record<string, string>, body: string) {
  const socket = dial(Number(new URL(url).port), "127.0.0.1");
  const lines = Object.entries({ ...headers, "content-length": String(body.length) }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write([`POST ${path} HTTP/1.1`, "host: a", ...lines, "", ""].join("\r\n"));
  const { promise: heard, resolve } = Promise.withResolvers<string>();
  let text = "";
  socket.on("data", (part) => {
    text += part.toString("latin1");
    const [head = "", content = ""] = text.split("\r\n\r\n", 2);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    const isWhole = length === undefined ? /0\r\n\r\n$/.test(text) : content.length >= Number(length);
    if (text.includes("\r\n\r\n") && isWhole) resolve(text + Buffer.from(content, "base64").toString("latin1"));
  });
  socket.on("error", () => {}).on("close", () => resolve(text));
  const finish = () => {
    socket.write(body);
    return heard;
  };
  return { heard: heard.finally(() => socket.destroy()), finish };
}
