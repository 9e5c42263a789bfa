import { once } from "node:events";
import { connect } from "node:http2";
import { expect, test } from "vitest";
import { frame } from "../../../../../test/wire/frame.ts";
import { requestHttp2 } from "../../../../../test/wire/http2.ts";
import { openSample } from "../../sample_gateway.ts";
import { serveHttp2 } from "./peer.ts";

const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, "a"]));

test.each([
  ["too large", { x: "a".repeat(8000) }],
  ["too many", many],
])("fields that are %s are refused with an answer", async (_, extra) => {
  await using port = await openSample();
  const answer = await requestHttp2(port.url, { ":path": "/one/a", ...extra });
  expect(answer.status).toBe(431);
  expect(JSON.parse(answer.body.toString()).details[0].reason).toBe("HEADERS_TOO_LARGE");
  const grpc = { ":path": "/sample.Samples/Do", "content-type": "application/grpc", ...extra };
  expect((await requestHttp2(port.url, grpc, frame(""))).status).toBe(431);
});

test("an answer has a date and a length", async () => {
  await using port = await openSample();
  const before = Date.now();
  const { headers, body } = await requestHttp2(port.url, { ":path": "/one/a" });
  // To the second.
  expect(Date.parse(headers.date ?? "")).toBeGreaterThanOrEqual(before - (before % 1000));
  expect(headers["content-length"]).toBe(String(body.length));
});

test("a client that expects 100-continue gets it", async () => {
  await using port = await openSample();
  const session = connect(port.url);
  const headers = { ":method": "POST", ":path": "/do", "content-type": "application/json", expect: "100-continue" };
  const stream = session.request(headers);
  await once(stream, "continue");
  stream.end('{"name":"ada"}');
  let text = "";
  for await (const part of stream) text += part;
  expect(text).toContain('"name":"ada"');
  session.destroy();
});

test("HEAD answers like GET, without the body", async () => {
  await using port = await openSample();
  const head = await requestHttp2(port.url, { ":method": "HEAD", ":path": "/one/a" });
  const get = await requestHttp2(port.url, { ":path": "/one/a" });
  expect([head.status, head.body.length]).toEqual([200, 0]);
  expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
});

test.each(["own", "node"] as const)(
  "%s: a heartbeat does not strand the message that waits for a slow client",
  async (http2) => {
    await using server = await serveHttp2(
      async (exchange) => {
        exchange.begin(200, {});
        const message = exchange.write(Buffer.alloc(100_000));
        const heartbeat = exchange.write(Buffer.from(":"));
        await Promise.all([message, heartbeat]);
        exchange.finish();
      },
      { http2 },
    );
    const session = connect(`http://localhost:${server.port}`);
    let length = 0;
    for await (const part of session.request({ ":path": "/" })) length += part.length;
    expect(length).toBe(100_001);
    session.destroy();
  },
);
