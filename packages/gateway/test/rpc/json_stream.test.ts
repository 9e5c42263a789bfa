import { setTimeout as pause } from "node:timers/promises";
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { openSocket, sendBytes } from "../../../../test/wire/tcp.ts";
import { opensAtOnce } from "../../src/rpc/pipeline.ts";
import { openSample, refuseSample, type SampleHandler } from "../sample_gateway.ts";

const lines = async (answer: Response) =>
  (await answer.text())
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

test("a stream answers one line of JSON for each message", async () => {
  await using port = await openSample(
    {},
    {
      handler: async function* () {
        yield { name: "a" };
        await pause(20);
        yield { name: "b" };
      },
    },
  );
  const answer = await fetch(`${port.url}/watch`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  expect(answer.headers.get("x-request-id")).toMatch(/^\w{24}$/);
  expect(await lines(answer)).toMatchObject([{ name: "a", tags: [] }, { name: "b" }]);
});

test.each([true, false])("messages are encoded once if streams share them (%s), else each time", async (shares) => {
  let message: Message & { name?: string };
  async function* messages(request: Message) {
    message ??= { ...request };
    // Only a change shows whether it was encoded again.
    message.name = message.name ? "changed" : "first";
    yield message;
  }
  const handler = (request: Message) => Object.assign(messages(request), shares ? { sharesMessages: true } : {});
  await using port = await openSample({}, { handler });
  const heard = async () => (await lines(await fetch(`${port.url}/watch`))).map(({ name }) => name);
  expect([...(await heard()), ...(await heard())]).toEqual(["first", shares ? "first" : "changed"]);
});

test("to HTTP/1.0 without Host a stream goes without chunks, and ends with the connection", async () => {
  const messages = async function* () {
    yield { name: "a" };
    yield { name: "b" };
  };
  await using port = await openSample({}, { handler: messages });
  const text = await sendBytes(port, "GET /watch HTTP/1.0\r\n\r\n");
  expect(text).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: close\r\n/);
  expect(text).not.toMatch(/transfer-encoding/i);
  const [, body = ""] = text.split("\r\n\r\n");
  expect(await lines(new Response(body))).toMatchObject([{ name: "a" }, { name: "b" }]);
});

test("a stream that opens at once is open before its first message", async () => {
  const gate = Promise.withResolvers<void>();
  async function* late() {
    await gate.promise;
    yield { name: "late" };
  }
  await using port = await openSample({}, { handler: () => opensAtOnce(late()) });
  const answer = await fetch(`${port.url}/watch`);
  expect(answer.status).toBe(200);
  gate.resolve();
  expect(await lines(answer)).toMatchObject([{ name: "late" }]);
});

test("a refusal before the first message is an ordinary problem", async () => {
  await using port = await openSample(
    {},
    {
      handler: async function* () {
        throw refuseSample(Code.InvalidArgument, "POSITION_INVALID");
        // biome-ignore lint/correctness/noUnreachable: a stream without it would be no generator
        yield {};
      },
    },
  );
  const answer = await fetch(`${port.url}/watch`);
  expect([answer.status, Object(await answer.json()).code]).toEqual([400, 3]);
  expect((await fetch(`${port.url}/watch?name=too-long`)).status).toBe(400);
});

test("a refusal in the middle is the last line", async () => {
  await using port = await openSample(
    {},
    {
      handler: async function* () {
        yield { name: "a" };
        throw new Error("secret");
      },
    },
  );
  const [first, last, ...more] = await lines(await fetch(`${port.url}/watch`));
  expect(first.name).toBe("a");
  expect(last.error).toMatchObject({ code: 13, details: [{ reason: "INTERNAL" }] });
  expect(JSON.stringify([last, more])).not.toContain("secret");
});

const untilAborted: (ended: () => void) => SampleHandler = (ended) =>
  async function* (_request, { signal }) {
    try {
      yield { name: "a" };
      await pause(60_000, undefined, { signal });
    } finally {
      ended();
    }
  };

test("a client that leaves ends its stream", async () => {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  await using port = await openSample({}, { handler: untilAborted(resolve) });
  const socket = await openSocket(port);
  socket.write("GET /watch HTTP/1.1\r\nhost: a\r\n\r\n");
  await new Promise((seen) => socket.once("data", seen));
  socket.destroy();
  await ended;
});

test("HEAD opens no stream that nobody reads", async () => {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  await using port = await openSample({}, { handler: untilAborted(resolve) });
  expect((await fetch(`${port.url}/watch`, { method: "HEAD" })).status).toBe(200);
  await ended;
});

test("a server that stops tells its streams that it is unavailable", async () => {
  const port = await openSample({}, { handler: untilAborted(() => {}) });
  const answer = await fetch(`${port.url}/watch`);
  const all = lines(answer);
  await pause(50);
  await port[Symbol.asyncDispose]();
  expect((await all).at(-1)).toMatchObject({ error: { code: 14, details: [{ reason: "UNAVAILABLE" }] } });
});

test("a slow reader is waited for, without memory growing with what it has not read", async () => {
  let made = 0;
  await using port = await openSample(
    {},
    {
      handler: async function* () {
        while (made < 5000) {
          made += 1;
          yield { side: { case: "left", value: "x".repeat(10_000) } };
        }
      },
    },
  );
  const socket = await openSocket(port);
  socket.pause();
  socket.write("GET /watch HTTP/1.1\r\nhost: a\r\n\r\n");
  await pause(300);
  expect(made).toBeLessThan(5000);
  socket.destroy();
});
