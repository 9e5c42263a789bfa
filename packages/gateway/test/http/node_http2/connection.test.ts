import { connect } from "node:http2";
import { expect, test, vi } from "vitest";
import type { ConnectionLimits } from "../../../src/http/connections.ts";
import type { Exchange } from "../../../src/http/exchange.ts";
import { ErrorCode, Flag, FrameType } from "../../../src/http/http2/rfc9113.ts";
import { floods } from "../http2/floods.ts";
import { malformedFields, neverTrailers } from "../http2/malformed.ts";
import {
  block,
  dial,
  echo,
  four,
  frame,
  hello,
  type ReceivedFrame,
  request,
  type Served,
  serveHttp2,
  setting,
} from "../http2/peer.ts";

const { END_STREAM: endStream, END_HEADERS: endHeaders } = Flag;
const whole = endHeaders | endStream;
const ok = { status: 200, headers: {} };
const timeout = { timeout: 60_000 };
const isEnd = (id: number) => (received: ReceivedFrame) => received.id === id && (received.flags & endStream) !== 0;
const isReset = (id: number) => (received: ReceivedFrame) =>
  received.type === FrameType.RST_STREAM && received.id === id;
const dataOn = (received: readonly ReceivedFrame[], streamId: number) =>
  received
    .filter(({ type, id }) => type === FrameType.DATA && id === streamId)
    .reduce((sum, { payload }) => sum + payload.length, 0);

const serve = (handler: (exchange: Exchange) => void = echo, limits: Partial<ConnectionLimits> = {}): Promise<Served> =>
  serveHttp2(handler, { http2: "node", limits });

test.each(floods)("%s: too many end the connection", async (_, frames) => {
  let count = 0;
  await using server = await serve((exchange) => {
    count += 1;
    // One of the floods is about a stream that was answered.
    if (frames[0]?.readUInt32BE(5) === 3 && count === 1) exchange.answer(ok);
  });
  await using peer = await dial(server);
  peer.send(...frames);
  await peer.ended;
  const codes = peer.received
    .filter(({ type }) => type === FrameType.GOAWAY)
    .map(({ payload }) => payload.readUInt32BE(4));
  // Node counts some of them too, by codes of its own.
  expect(codes).not.toContain(ErrorCode.NO_ERROR);
});

test("a client that begins requests and never ends them is cut off", async () => {
  await using server = await serve((exchange) => exchange.answer(ok), { idleTimeoutMs: 2_000 });
  await using peer = await dial(server);
  peer.send(...Array.from({ length: 1000 }, (_, index) => request(2 * index + 1, endHeaders)));
  await peer.ended;
  expect(peer.received.filter(({ type }) => type === FrameType.HEADERS).length).toBeLessThan(500);
});

test("a client that resets its request with NO_ERROR has not sent all of it", async () => {
  const served = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<boolean>();
  let hasEnd = false;
  await using server = await serve((exchange) => {
    served.resolve();
    exchange.onClose = () => closed.resolve(exchange.complete);
    exchange.receive({
      data() {},
      overloaded() {},
      end: () => {
        hasEnd = true;
      },
    });
  });
  await using peer = await dial(server);
  peer.send(request(1, endHeaders), frame(FrameType.DATA, { id: 1, payload: "half" }));
  await served.promise;
  peer.send(frame(FrameType.RST_STREAM, { id: 1, payload: four(ErrorCode.NO_ERROR) }));
  expect(await closed.promise).toBe(false);
  expect(hasEnd).toBe(false);
});

test("bodies far above the windows go both ways whole", async () => {
  await using server = await serve(echo, { messageMaxBytes: 100 });
  const session = connect(`http://127.0.0.1:${server.port}`);
  const body = Buffer.alloc(3_000_000, "0123456789abcdef");
  const stream = session.request({ ":method": "POST" });
  stream.end(body);
  const parts: Buffer[] = [];
  let trailers: Record<string, unknown> = {};
  stream.on("trailers", (fields) => {
    trailers = fields;
  });
  for await (const part of stream) parts.push(part);
  expect(Buffer.concat(parts).equals(body)).toBe(true);
  expect(trailers.c).toBe("d");
  session.destroy();
});

test("a body that nobody reads keeps its window closed", async () => {
  const exchanges: Exchange[] = [];
  await using server = await serve((exchange) => void exchanges.push(exchange));
  const session = connect(`http://127.0.0.1:${server.port}`);
  const body = Buffer.alloc(1_000_000, "a");
  const stream = session.request({ ":method": "POST" });
  stream.end(body);
  await vi.waitFor(() => expect(exchanges).toHaveLength(1), timeout);
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => session.ping(resolve));
  // One window is held, and another one was let in before that.
  expect(stream.writableLength).toBeGreaterThan(body.length - 200_000);
  let size = 0;
  for await (const chunk of exchanges[0]?.chunks() ?? []) size += chunk.length;
  expect(size).toBe(body.length);
  session.destroy();
});

test("an answer before the end of its request is followed by NO_ERROR", async () => {
  await using server = await serve((exchange) =>
    exchange.answer({ ...ok, body: Buffer.from("no"), trailers: { a: "b" } }),
  );
  await using peer = await dial(server);
  peer.send(request(1, endHeaders));
  const { payload } = await peer.receives(isReset(1));
  expect(payload.readUInt32BE(0)).toBe(ErrorCode.NO_ERROR);
  const order = peer.received.filter(({ id }) => id === 1).map(({ type }) => type);
  expect(order).toEqual([FrameType.HEADERS, FrameType.DATA, FrameType.HEADERS, FrameType.RST_STREAM]);
});

test("an answer that its client does not let out for too long is reset", async () => {
  await using server = await serve((exchange) => exchange.answer({ ...ok, body: Buffer.alloc(100_000) }), {
    bodyTimeoutMs: 50,
  });
  await using peer = await dial(server);
  peer.send(request(1, whole));
  const { payload } = await peer.receives(isReset(1));
  expect([payload.readUInt32BE(0), dataOn(peer.received, 1)]).toEqual([ErrorCode.CANCEL, 65_535]);
});

test("a client that does not read is cut off", async () => {
  let [served, lost] = [0, 0];
  await using server = await serve(
    (exchange) => {
      served += 1;
      exchange.onClose = () => {
        if (!exchange.complete) lost += 1;
      };
      exchange.answer({ ...ok, body: Buffer.alloc(1_000_000) });
    },
    { bodyTimeoutMs: 300 },
  );
  await using peer = await dial(server);
  peer.socket.pause();
  peer.send(setting(4, 2 ** 31 - 1), frame(FrameType.WINDOW_UPDATE, { payload: four(2 ** 31 - 1 - 65_535) }));
  for (let id = 1; id < 400; id += 2) peer.send(request(id, whole));
  await vi.waitFor(() => expect(lost).toBeGreaterThan(80), timeout);
  expect(served).toBeLessThanOrEqual(200);
});

test.each([
  ["sends nothing", Buffer.alloc(0)],
  ["stops within the preface", hello.subarray(0, 20)],
  ["sends no SETTINGS", hello.subarray(0, 24)],
  ["stops within a frame", Buffer.concat([hello, request(1, whole).subarray(0, 15)])],
  ["stops within a block", Buffer.concat([hello, request(1, 0)])],
])("a client that %s is not waited for", async (_, begin) => {
  await using server = await serve(() => {}, { headerTimeoutMs: 50 });
  await using peer = await dial(server, begin);
  await peer.ended;
});

test("a busy client whose every write ends within a frame is served on", async () => {
  await using server = await serve(echo, { headerTimeoutMs: 3000 });
  await using peer = await dial(server);
  const began = performance.now();
  let rest = Buffer.alloc(0);
  let id = -1;
  while (performance.now() - began < 6500) {
    id += 2;
    const bytes = Buffer.concat([rest, request(id, whole)]);
    peer.socket.write(bytes.subarray(0, -5));
    rest = bytes.subarray(-5);
    if (id > 1) await peer.receives(isEnd(id - 2));
  }
  peer.socket.write(rest);
  await peer.receives(isEnd(id));
});

test.each([
  [":authority and host differ", [["host", "elsewhere"]]],
  ["a field is of HTTP/1.1", [["connection", "close"]]],
  ["a pseudo-header field comes twice", [[":path", "/"]]],
] as const)("a request is reset where %s", async (_, more) => {
  await using server = await serve();
  await using peer = await dial(server);
  peer.send(request(1, whole, more), request(3, whole));
  const { payload } = await peer.receives(isReset(1));
  expect(payload.readUInt32BE(0)).toBe(ErrorCode.PROTOCOL_ERROR);
  await peer.receives(isEnd(3));
});

const isGoaway = ({ type }: ReceivedFrame) => type === FrameType.GOAWAY;
const data = (payload: string) => frame(FrameType.DATA, { id: 1, payload });
const trailers = (fields: readonly (readonly [string, string])[]) =>
  frame(FrameType.HEADERS, { id: 1, flags: whole, payload: block(fields) });

// nghttp2 leaves most of these out, and goes on.
test.each([
  ...malformedFields.map(([what, field]) => [what, [request(1, whole, [field])]] as const),
  ...[...malformedFields, ...neverTrailers].map(
    ([what, field]) => [`trailers with ${what}`, [request(1, endHeaders), data("a"), trailers([field])]] as const,
  ),
])("%s ends the stream, whose request is not whole, and the connection serves on", async (_, frames) => {
  const answered: string[] = [];
  await using server = await serve((exchange) => {
    echo(exchange);
    exchange.onClose = () => void answered.push(`${exchange.complete}`);
  });
  await using peer = await dial(server);
  peer.send(...frames);
  const { payload } = await peer.receives(isReset(1));
  expect(payload.readUInt32BE(0)).toBe(ErrorCode.PROTOCOL_ERROR);
  expect(answered).not.toContain("true");
  peer.send(request(3, whole));
  await peer.receives(isEnd(3));
});

test("a head and trailers in every form are served, wherever they are cut", async () => {
  await using server = await serve();
  await using peer = await dial(server);
  const { PADDED: padded, PRIORITY: priority } = Flag;
  // RFC 7541, 6: indexed, with and without indexing, never indexed, in Huffman's code, long, and after updates of the table's size.
  const forms = [
    ...["20", "3fe11f", "8386", "84", `4109${Buffer.from("localhost").toString("hex")}`],
    ...["408825a849e95ba97d7f8925a849e95bb8e8b4bf", "be", "1f1100", "0f1100"],
  ];
  const head = Buffer.concat([
    Buffer.from(forms.join(""), "hex"),
    block([
      ["cookie", "a=1"],
      ["cookie", "b=2"],
      ["x-long", "a".repeat(300)],
      ["x-empty", ""],
    ]),
  ]);
  // nghttp2 takes eight CONTINUATION frames.
  const pieces = Array.from({ length: 8 }, (_, at) =>
    frame(FrameType.CONTINUATION, {
      ...{ id: 1, flags: at === 7 ? endHeaders : 0 },
      payload: head.subarray(1 + 5 * at, at === 7 ? head.length : 6 + 5 * at),
    }),
  );
  const first = Buffer.concat([Buffer.of(3), four(0), Buffer.of(9), head.subarray(0, 1), Buffer.alloc(3)]);
  const bytes = Buffer.concat([
    frame(FrameType.HEADERS, { id: 1, flags: padded | priority, payload: first }),
    ...pieces,
    frame(FrameType.DATA, { id: 1, flags: padded, payload: "\u0002hello\0\0" }),
    trailers([
      ["x-sum", "1"],
      ["x-sum", "2"],
    ]),
  ]);
  for (const byte of bytes) peer.socket.write(Buffer.of(byte));
  await peer.receives(isEnd(1));
  expect(peer.received.some(isReset(1))).toBe(false);
  expect(dataOn(peer.received, 1)).toBe(5);
});

// A stream error by RFC 9113, 8.1.1, which 5.4 lets end the connection: nghttp2 ends it.
test.each([
  ["DATA", data("ab")],
  ["padded DATA", frame(FrameType.DATA, { id: 1, flags: Flag.PADDED, payload: "\u0001ab\0" })],
])("%s beyond the content-length ends the connection, by PROTOCOL_ERROR", async (_, beyond) => {
  await using server = await serve();
  await using peer = await dial(server);
  peer.send(request(1, endHeaders, [["content-length", "1"]]), beyond);
  expect((await peer.receives(isGoaway)).payload.readUInt32BE(4)).toBe(ErrorCode.PROTOCOL_ERROR);
  await peer.ended;
});

test.each([
  ["a preface that is not quite one", ErrorCode.PROTOCOL_ERROR, [hello.subarray(0, 23), Buffer.of(0)]],
  [
    "a block of more CONTINUATION frames than nghttp2 takes",
    ErrorCode.ENHANCE_YOUR_CALM,
    [hello, request(1, 0), ...Array.from({ length: 9 }, () => frame(FrameType.CONTINUATION, { id: 1 }))],
  ],
])("%s ends the connection by the code of RFC 9113", async (_, code, begin) => {
  await using server = await serve();
  await using peer = await dial(server, Buffer.concat(begin));
  expect((await peer.receives(isGoaway)).payload.readUInt32BE(4)).toBe(code);
  await peer.ended;
});

test("a connection that is closed serves what was on its way, and loses nothing that runs", async () => {
  const exchanges: Exchange[] = [];
  await using server = await serve((exchange) => void exchanges.push(exchange));
  await using peer = await dial(server);
  peer.send(request(1, whole));
  await vi.waitFor(() => expect(exchanges).toHaveLength(1), timeout);
  server.connections.close("all");
  const ping = await peer.receives(({ type }) => type === FrameType.PING);
  peer.send(request(3, whole), frame(FrameType.PING, { flags: Flag.ACK, payload: ping.payload }));
  await peer.receives(({ type, payload }) => type === FrameType.GOAWAY && payload.readUInt32BE(0) === 3);
  expect(exchanges).toHaveLength(2);
  for (const exchange of exchanges) exchange.answer({ ...ok, body: Buffer.from("late") });
  await Promise.all([peer.receives(isEnd(1)), peer.receives(isEnd(3)), peer.ended]);
});

test("an error of ours ends its connection, is reported, and ends nothing else", async () => {
  const server = await serve(({ headers }) => {
    if (headers["x-fail"]) throw new Error("a bug");
  });
  await using well = await dial(server);
  await using peer = await dial(server);
  peer.send(request(1, whole, [["x-fail", "yes"]]));
  const { payload } = await peer.receives(({ type }) => type === FrameType.GOAWAY);
  expect(payload.readUInt32BE(4)).toBe(ErrorCode.INTERNAL_ERROR);
  await peer.ended;
  expect(server.faults).toEqual([new Error("a bug")]);
  well.send(frame(FrameType.PING, { payload: "12345678" }));
  await well.receives(({ type }) => type === FrameType.PING);
  server.faults.length = 0;
  await server[Symbol.asyncDispose]();
});
