import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { machine, type Postern, startPostern } from "../harness.ts";
import { frame } from "../wire/frame.ts";
import { sendBytes } from "../wire/tcp.ts";

// The smallest budget there is: a caller may hold 256 KiB of it, unknown callers as much together, and one network 64 KiB.
const bodiesMaxBytes = 1_048_576;
const polling = { timeout: 60_000, interval: 20 };

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern({ bodiesMaxBytes });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** A request whose body is begun and not ended. */
type Held = {
  readonly write: (bytes: Buffer) => void;
  readonly answer: Promise<{
    readonly status: number;
    readonly text: string;
    readonly headers: IncomingMessage["headers"];
  }>;
  readonly end: () => void;
  readonly close: () => void;
};
type Hold = (path: string, token?: string) => Held;

const headersOf = (token?: string) => ({
  "content-type": "application/json",
  ...(token && { authorization: `Bearer ${token}` }),
});

const http1: Hold = (path, token) => {
  const sending: ClientRequest = request(`${postern.url}${path}`, {
    method: "POST",
    headers: headersOf(token),
    agent: false,
  });
  sending.on("error", () => {});
  const answer = new Promise<Awaited<Held["answer"]>>((resolve, reject) => {
    sending.on("close", () => reject(new Error("closed without an answer")));
    sending.on("response", async (response) => {
      let text = "";
      for await (const part of response) text += part;
      resolve({ status: response.statusCode ?? 0, text, headers: response.headers });
    });
  });
  answer.catch(() => {});
  const write = (bytes: Buffer) => void sending.write(bytes);
  return { write, answer, end: () => void sending.end(), close: () => void sending.destroy() };
};

let session: ClientHttp2Session | undefined;
const http2: Hold = (path, token) => {
  session ??= connect(postern.url).on("error", () => {});
  const stream: ClientHttp2Stream = session.request({ ":method": "POST", ":path": path, ...headersOf(token) });
  stream.on("error", () => {});
  const answer = new Promise<Awaited<Held["answer"]>>((resolve, reject) => {
    stream.on("close", () => reject(new Error("closed without an answer")));
    stream.on("response", async (headers) => {
      let text = "";
      for await (const part of stream) text += part;
      resolve({ status: Number(headers[":status"]), text, headers: headers as IncomingMessage["headers"] });
    });
  });
  answer.catch(() => {});
  const write = (bytes: Buffer) => void stream.write(bytes);
  return { write, answer, end: () => void stream.end(), close: () => stream.close() };
};
afterAll(() => void session?.destroy());

/** JSON takes any number of them. */
const spaces = (count: number) => Buffer.alloc(count, " ");

describe.each([
  ["HTTP/1.1", http1],
  ["HTTP/2", http2],
])("over %s", (_, hold) => {
  test("a caller that holds its share is refused more, others are served, and it is again once it gave up", async () => {
    const robot = await machine(postern);
    const larger = "/v1/user-grants:batchAdd";
    const held = Array.from({ length: 4 }, () => hold(larger, robot.client.token));
    for (const one of held) one.write(spaces(100_000));
    const refused = await Promise.any(held.map((one) => one.answer));
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("1");
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 8,
      details: [{ reason: "OVERLOADED" }, { retryDelay: "1s" }],
    });
    expect((await postern.admin.post(`/v1/users/${robot.userId}/tokens`)).status).toBe(200);
    for (const one of held) one.close();
    await vi.waitFor(async () => expect((await robot.client.get("/v1/users/me")).status).toBe(200), polling);
    await vi.waitFor(async () => {
      const again = await robot.client.post(larger, `{"items": []${" ".repeat(150_000)}}`);
      expect(again.status).toBe(400);
    }, polling);
  });

  test("unknown callers of one network hold their share at most, and those who are known are served beside them", async () => {
    const unknownCallers = Array.from({ length: 12 }, () => hold("/v1/sessions"));
    for (const one of unknownCallers) one.write(spaces(10_000));
    const refused = await Promise.any(unknownCallers.map((one) => one.answer));
    expect([refused.status, JSON.parse(refused.text).details[0].reason]).toEqual([429, "OVERLOADED"]);
    const known = await postern.admin.post("/v1/user-grants:batchAdd", `{"items": []${" ".repeat(150_000)}}`);
    expect(known.status).toBe(400);
    for (const one of unknownCallers) one.close();
    await vi.waitFor(async () => {
      const answer = await postern
        .as()
        .post("/v1/sessions", `{"loginName": "nobody", "password": "${"x".repeat(5000)}"}`);
      expect(answer.status).not.toBe(429);
    }, polling);
  });

  test("a body of a thousand parts of one byte is a body", async () => {
    const { userId } = await machine(postern);
    const one = hold(`/v1/users/${userId}/tokens`, postern.admin.token);
    for (const letter of `{${" ".repeat(998)}}`) {
      one.write(Buffer.from(letter));
      await new Promise((next) => setImmediate(next));
    }
    one.end();
    expect((await one.answer).status).toBe(200);
  });
});

describe("a client that takes no answers", () => {
  // Half of the budget, which those may hold who are not looked up yet.
  const parts = [...Array<number>(8).fill(65_535), ...Array<number>(8).fill(1)];

  test.each([
    ["is refused", { ":method": "POST", ":path": "/v1/projects", "content-type": "application/json" }],
    ["reads a page", { ":method": "GET", ":path": "/openapi.json" }],
  ])("and %s does not keep bodies of known callers out", async (_, headers) => {
    const robot = await machine(postern);
    const stuck = connect(postern.url, { settings: { initialWindowSize: 0 } }).on("error", () => {});
    const answered = parts.map(async (bytes) => {
      const stream = stuck.request(headers, { endStream: false }).on("error", () => {});
      stream.write(Buffer.alloc(bytes, " "));
      await once(stream, "response");
    });
    await Promise.all(answered);
    // Once this is answered, everything sent before has been read.
    await new Promise<void>((resolve) => stuck.ping(() => resolve()));
    // The first call of a token looks its caller up, with the body in the packet of its head.
    const text = await sendBytes(
      postern,
      `POST /v1/user-grants:batchAdd HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\
authorization: Bearer ${robot.client.token}\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"items": []}`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    stuck.destroy();
  });
});

test("watching health holds nothing of the share of strangers", async () => {
  const watching = connect(postern.url).on("error", () => {});
  const name = Buffer.alloc(16_000, "a");
  const message = Buffer.concat([Buffer.of(0x0a, (name.length & 0x7f) | 0x80, name.length >> 7), name]);
  // Four times what one network may hold.
  for (let count = 0; count < 16; count++) {
    const stream = watching.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Watch",
      ...{ "content-type": "application/grpc", te: "trailers" },
    });
    stream.end(frame(message));
    const [headers] = await once(stream, "response");
    // A refusal has its status in its headers, a stream that is open has none.
    expect(headers["grpc-status"]).toBeUndefined();
  }
  watching.destroy();
});

test("streams that strangers leave open have a limit, and count no more once they are closed", async () => {
  await using small = await startPostern({ unknownStreamsMax: 4 });
  const session = connect(small.url).on("error", () => {});
  const open = async () => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Watch",
      ...{ "content-type": "application/grpc", te: "trailers" },
    });
    stream.on("error", () => {}).end(frame(""));
    const [headers] = await once(stream, "response");
    return { stream, status: headers["grpc-status"] };
  };
  const [first, second, third] = [await open(), await open(), await open()];
  expect([first.status, second.status, third.status]).toEqual([undefined, undefined, "8"]);
  first.stream.close();
  await vi.waitFor(async () => expect((await open()).status).toBeUndefined(), polling);
  session.destroy();
});
