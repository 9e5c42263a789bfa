import { expect, test } from "vitest";
import type { Fields } from "../../../src/http/http2/head.ts";
import { codes, flags, preface, types } from "../../../src/http/http2/protocol.ts";
import { block, dial, four, frame, hello, plain, request, serveStreams, setting } from "./peer.ts";

const { endStream, endHeaders, padded, priority, ack } = flags;
const whole = endHeaders | endStream;
const open = request(1, endHeaders);
const done = request(1, whole);

type Row = readonly [what: string, code: number, ...frames: Buffer[]];
const rows = (all: readonly Row[]) => all.map(([what, code, ...frames]) => [what, code, frames] as const);

// RFC 9113: what ends the connection, with the code that says why.
const connectionErrors: readonly Row[] = [
  ["a frame larger than allowed", codes.frameSize, frame(types.data, { id: 1, payload: Buffer.alloc(16_385) })],
  ["DATA on no stream", codes.protocol, frame(types.data)],
  ["DATA on a stream that is not open", codes.protocol, frame(types.data, { id: 1 })],
  ["DATA with too much padding", codes.protocol, open, frame(types.data, { id: 1, flags: padded, payload: "\u0002a" })],
  ["DATA with no room for padding", codes.protocol, open, frame(types.data, { id: 1, flags: padded })],
  ["HEADERS on no stream", codes.protocol, frame(types.headers, { flags: whole, payload: block(plain) })],
  ["HEADERS on a stream of the server", codes.protocol, request(2, whole)],
  [
    "HEADERS with too much padding",
    codes.protocol,
    frame(types.headers, { id: 1, flags: whole | padded, payload: "z" }),
  ],
  ["HEADERS without their priority", codes.frameSize, frame(types.headers, { id: 1, flags: whole | priority })],
  [
    "HEADERS that depend on themselves",
    codes.protocol,
    frame(types.headers, {
      id: 1,
      flags: whole | priority,
      payload: Buffer.concat([four(1), Buffer.of(0), block(plain)]),
    }),
  ],
  ["HEADERS on a stream that is closed", codes.streamClosed, done, done],
  ["HEADERS on a stream that was left out", codes.protocol, request(5, whole), request(3, whole)],
  ["a block that cannot be read", codes.compression, frame(types.headers, { id: 1, flags: whole, payload: "\u00ff" })],
  ["CONTINUATION of nothing", codes.protocol, frame(types.continuation, { id: 1, flags: endHeaders })],
  ["CONTINUATION after the end", codes.protocol, open, frame(types.continuation, { id: 1, flags: endHeaders })],
  [
    "CONTINUATION on another stream",
    codes.protocol,
    request(1, 0),
    frame(types.continuation, { id: 3, flags: endHeaders }),
  ],
  ["another frame within a block", codes.protocol, request(1, 0), frame(types.ping, { payload: Buffer.alloc(8) })],
  ["an unknown frame within a block", codes.protocol, request(1, 0), frame(200)],
  ["PRIORITY on no stream", codes.protocol, frame(types.priority, { payload: Buffer.alloc(5) })],
  ["PRIORITY of an odd length", codes.frameSize, frame(types.priority, { id: 1, payload: "1234" })],
  [
    "PRIORITY on itself",
    codes.protocol,
    frame(types.priority, { id: 3, payload: Buffer.concat([four(3), Buffer.of(0)]) }),
  ],
  ["RST_STREAM on no stream", codes.protocol, frame(types.reset, { payload: four(0) })],
  ["RST_STREAM on a stream that is not open", codes.protocol, frame(types.reset, { id: 1, payload: four(0) })],
  ["RST_STREAM of an odd length", codes.frameSize, open, frame(types.reset, { id: 1, payload: "123" })],
  ["SETTINGS on a stream", codes.protocol, frame(types.settings, { id: 1 })],
  ["SETTINGS of an odd length", codes.frameSize, frame(types.settings, { payload: "12345" })],
  ["an acknowledgement that says something", codes.frameSize, frame(types.settings, { flags: ack, payload: "123456" })],
  ["ENABLE_PUSH of 2", codes.protocol, setting(2, 2)],
  ["INITIAL_WINDOW_SIZE of 2^31", codes.flowControl, setting(4, 2 ** 31)],
  ["MAX_FRAME_SIZE too small", codes.protocol, setting(5, 16_383)],
  ["MAX_FRAME_SIZE too large", codes.protocol, setting(5, 2 ** 24)],
  [
    "INITIAL_WINDOW_SIZE that makes a window too wide",
    codes.flowControl,
    ...[open, frame(types.window, { id: 1, payload: four(2 ** 31 - 65_536) }), setting(4, 65_537)],
  ],
  ["PUSH_PROMISE", codes.protocol, open, frame(types.push, { id: 1, flags: endHeaders, payload: four(2) })],
  ["PING on a stream", codes.protocol, frame(types.ping, { id: 1, payload: Buffer.alloc(8) })],
  ["PING of an odd length", codes.frameSize, frame(types.ping, { payload: "1234567" })],
  ["GOAWAY on a stream", codes.protocol, frame(types.goaway, { id: 1, payload: Buffer.alloc(8) })],
  ["GOAWAY of an odd length", codes.frameSize, frame(types.goaway, { payload: "1234567" })],
  ["WINDOW_UPDATE of an odd length", codes.frameSize, frame(types.window, { payload: "123" })],
  ["WINDOW_UPDATE by nothing", codes.protocol, frame(types.window, { payload: four(0) })],
  ["WINDOW_UPDATE on a stream that is not open", codes.protocol, frame(types.window, { id: 1, payload: four(1) })],
  [
    "WINDOW_UPDATE that makes a window too wide",
    codes.flowControl,
    frame(types.window, { payload: four(2 ** 31 - 1) }),
  ],
];

test.each(rows(connectionErrors))("%s ends the connection", async (_, code, frames) => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.say(...frames);
  const { payload } = await peer.hears(({ type }) => type === types.goaway);
  expect(payload.readUInt32BE(4)).toBe(code);
  await peer.ended;
});

test.each([
  ["no preface", Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n")],
  ["a preface that is not quite one", Buffer.concat([preface.subarray(0, 23), Buffer.of(0)])],
  ["HEADERS before SETTINGS", Buffer.concat([preface, done])],
  ["an acknowledgement before SETTINGS", Buffer.concat([preface, frame(types.settings, { flags: ack })])],
])("%s ends the connection", async (_, begin) => {
  await using server = await serveStreams();
  await using peer = await dial(server, begin);
  const { payload } = await peer.hears(({ type }) => type === types.goaway);
  expect(payload.readUInt32BE(4)).toBe(codes.protocol);
  await peer.ended;
});

const data = (payload: string, more = 0) => frame(types.data, { id: 1, flags: more, payload });
const without = (name: string) => plain.filter(([one]) => one !== name);
const headers = (fields: readonly (readonly [string, string])[], more = whole) =>
  frame(types.headers, { id: 1, flags: more, payload: block(fields) });

// What ends a stream only.
const streamErrors: readonly Row[] = [
  ["a field without a name", codes.protocol, headers([...plain, ["", "a"]])],
  ["a name with a capital", codes.protocol, headers([...plain, ["X-a", "b"]])],
  ["a name with a space", codes.protocol, headers([...plain, ["x a", "b"]])],
  ["a name with a colon", codes.protocol, headers([...plain, ["x:a", "b"]])],
  ["a value with a line break", codes.protocol, headers([...plain, ["x", "a\r\nb: c"]])],
  ["a value with a zero", codes.protocol, headers([...plain, ["x", "a\0"]])],
  ["a value that begins with a space", codes.protocol, headers([...plain, ["x", " a"]])],
  ["a value that ends with a tab", codes.protocol, headers([...plain, ["x", "a\t"]])],
  ["an unknown pseudo-header", codes.protocol, headers([...plain, [":what", "a"]])],
  ["a pseudo-header of answers", codes.protocol, headers([...plain, [":status", "200"]])],
  ["a pseudo-header after a field", codes.protocol, headers([["x", "a"], ...plain])],
  ["two paths", codes.protocol, headers([...plain, [":path", "/"]])],
  ["no method", codes.protocol, headers(without(":method"))],
  ["no scheme", codes.protocol, headers(without(":scheme"))],
  ["no path", codes.protocol, headers(without(":path"))],
  ["an empty path", codes.protocol, headers([...without(":path"), [":path", ""]])],
  ["a method with a space", codes.protocol, headers([...without(":method"), [":method", "GET /"]])],
  ["CONNECT with a path", codes.protocol, headers([...without(":method"), [":method", "CONNECT"]])],
  ["another host than the authority", codes.protocol, headers([...plain, ["host", "elsewhere"]])],
  ["connection", codes.protocol, headers([...plain, ["connection", "close"]])],
  ["proxy-connection", codes.protocol, headers([...plain, ["proxy-connection", "close"]])],
  ["keep-alive", codes.protocol, headers([...plain, ["keep-alive", "1"]])],
  ["transfer-encoding", codes.protocol, headers([...plain, ["transfer-encoding", "chunked"]])],
  ["upgrade", codes.protocol, headers([...plain, ["upgrade", "h2c"]])],
  ["te other than trailers", codes.protocol, headers([...plain, ["te", "gzip"]])],
  ["a length that is no number", codes.protocol, headers([...plain, ["content-length", "1a"]])],
  ["a negative length", codes.protocol, headers([...plain, ["content-length", "-1"]])],
  ["two lengths", codes.protocol, headers([...plain, ["content-length", "0"], ["content-length", "0"]])],
  ["a length without a body", codes.protocol, headers([...plain, ["content-length", "1"]])],
  ["a body longer than said", codes.protocol, request(1, endHeaders, [["content-length", "1"]]), data("ab")],
  [
    "a body shorter than said",
    codes.protocol,
    request(1, endHeaders, [["content-length", "3"]]),
    data("ab", endStream),
  ],
  [
    "a body shorter than said, before trailers",
    codes.protocol,
    ...[request(1, endHeaders, [["content-length", "3"]]), data("ab"), headers([["x", "y"]])],
  ],
  ["trailers that do not end the request", codes.protocol, open, data("a"), headers([["x", "y"]], endHeaders)],
  ["trailers with a pseudo-header", codes.protocol, open, data("a"), headers([[":path", "/"]])],
  ["trailers with a capital", codes.protocol, open, data("a"), headers([["X", "y"]])],
  ["WINDOW_UPDATE by nothing", codes.protocol, open, frame(types.window, { id: 1, payload: four(0) })],
  [
    "WINDOW_UPDATE that makes a window too wide",
    codes.flowControl,
    ...[open, frame(types.window, { id: 1, payload: four(2 ** 31 - 1) })],
  ],
];

test.each(rows(streamErrors))("%s ends the stream, and the connection serves on", async (_, code, frames) => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.say(...frames);
  const { payload } = await peer.hears(({ type, id }) => type === types.reset && id === 1);
  expect(payload.readUInt32BE(0)).toBe(code);
  peer.say(request(3, whole));
  await peer.hears(({ type, id, flags }) => type === types.headers && id === 3 && (flags & endStream) !== 0);
});

test.each([
  ["DATA", frame(types.data, { id: 1, payload: "a" })],
  ["HEADERS", request(1, whole)],
])("%s after the end of a request that is not answered yet ends the stream", async (_, more) => {
  await using server = await serveStreams(() => {});
  await using peer = await dial(server);
  peer.say(done, more);
  const { payload } = await peer.hears(({ type }) => type === types.reset);
  expect(payload.readUInt32BE(0)).toBe(codes.streamClosed);
});

test("DATA after the end of an exchange ends the stream once more", async () => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.say(done, frame(types.data, { id: 1, payload: "a" }));
  const { payload } = await peer.hears(({ type }) => type === types.reset);
  expect(payload.readUInt32BE(0)).toBe(codes.streamClosed);
});

test("an error of ours ends its connection, is told, and ends nothing else", async () => {
  const server = await serveStreams(({ headers }) => {
    if (headers["x-fail"]) throw new Error("a bug");
  });
  await using well = await dial(server);
  await using peer = await dial(server);
  peer.say(request(1, whole, [["x-fail", "yes"]]));
  const { payload } = await peer.hears(({ type }) => type === types.goaway);
  expect(payload.readUInt32BE(4)).toBe(codes.internal);
  await peer.ended;
  expect(server.told).toEqual([new Error("a bug")]);
  well.say(frame(types.ping, { payload: "12345678" }));
  expect((await well.hears(({ type }) => type === types.ping)).payload.toString()).toBe("12345678");
  server.told.length = 0;
  await server[Symbol.asyncDispose]();
});

test("fields that come more than once are one", async () => {
  const seen = Promise.withResolvers<Fields>();
  await using server = await serveStreams(({ headers }) => seen.resolve(headers));
  await using peer = await dial(server);
  peer.say(
    request(1, whole, [
      ...([
        ["cookie", "a=1"],
        ["x", "1"],
        ["constructor", "2"],
        ["__proto__", "3"],
      ] as const),
      ...([
        ["cookie", "b=2"],
        ["x", "\u00e9"],
        ["constructor", "4"],
      ] as const),
    ]),
  );
  const { cookie, x, constructor: made, ["__proto__"]: proto } = await seen.promise;
  expect([cookie, x, made, proto]).toEqual(["a=1; b=2", "1, \u00e9", "2, 4", "3"]);
});

test("what is allowed is taken: padding, priorities, unknown frames, settings and flags, an empty name of a host", async () => {
  await using server = await serveStreams();
  await using peer = await dial(server, hello.subarray(0, 24));
  const fields = block([...plain, ["te", "trailers"], ["host", "localhost"]]);
  peer.say(
    setting(200, 5),
    frame(types.priority, { id: 9, payload: Buffer.concat([four(7), Buffer.of(1)]) }),
    frame(99, { id: 4, flags: 0xff, payload: "whatever" }),
    frame(types.headers, {
      ...{ id: 1, flags: endHeaders | padded | priority },
      payload: Buffer.concat([Buffer.of(3), four(0), Buffer.of(9), fields, Buffer.alloc(3)]),
    }),
    frame(types.data, { id: 1, flags: padded, payload: "\u0002hello\0\0" }),
    frame(types.data, { id: 1, flags: endStream | 0xf0, payload: " there" }),
  );
  const { payload } = await peer.hears(({ type }) => type === types.data);
  expect(payload.toString()).toBe("hello there");
});
