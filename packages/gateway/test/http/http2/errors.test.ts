import { expect, test } from "vitest";
import type { Fields } from "../../../src/http/http2/head.ts";
import { ErrorCode, Flag, FrameType, preface } from "../../../src/http/http2/rfc9113.ts";
import { malformedFields, neverTrailers } from "./malformed.ts";
import { block, dial, four, frame, hello, plain, request, serveStreams, setting } from "./peer.ts";

const { END_STREAM: endStream, END_HEADERS: endHeaders, PADDED: padded, PRIORITY: priority, ACK: ack } = Flag;
const whole = endHeaders | endStream;
const open = request(1, endHeaders);
const done = request(1, whole);

type Row = readonly [what: string, code: number, ...frames: Buffer[]];
const rows = (all: readonly Row[]) => all.map(([what, code, ...frames]) => [what, code, frames] as const);

// RFC 9113: connection errors and their codes.
const connectionErrors: readonly Row[] = [
  [
    "a frame larger than allowed",
    ErrorCode.FRAME_SIZE_ERROR,
    frame(FrameType.DATA, { id: 1, payload: Buffer.alloc(16_385) }),
  ],
  ["DATA on no stream", ErrorCode.PROTOCOL_ERROR, frame(FrameType.DATA)],
  ["DATA on a stream that is not open", ErrorCode.PROTOCOL_ERROR, frame(FrameType.DATA, { id: 1 })],
  [
    "DATA with too much padding",
    ErrorCode.PROTOCOL_ERROR,
    open,
    frame(FrameType.DATA, { id: 1, flags: padded, payload: "\u0002a" }),
  ],
  ["DATA with no room for padding", ErrorCode.PROTOCOL_ERROR, open, frame(FrameType.DATA, { id: 1, flags: padded })],
  ["HEADERS on no stream", ErrorCode.PROTOCOL_ERROR, frame(FrameType.HEADERS, { flags: whole, payload: block(plain) })],
  ["HEADERS on a stream of the server", ErrorCode.PROTOCOL_ERROR, request(2, whole)],
  [
    "HEADERS with too much padding",
    ErrorCode.PROTOCOL_ERROR,
    frame(FrameType.HEADERS, { id: 1, flags: whole | padded, payload: "z" }),
  ],
  [
    "HEADERS without their priority",
    ErrorCode.FRAME_SIZE_ERROR,
    frame(FrameType.HEADERS, { id: 1, flags: whole | priority }),
  ],
  [
    "HEADERS that depend on themselves",
    ErrorCode.PROTOCOL_ERROR,
    frame(FrameType.HEADERS, {
      id: 1,
      flags: whole | priority,
      payload: Buffer.concat([four(1), Buffer.of(0), block(plain)]),
    }),
  ],
  ["HEADERS on a stream that is closed", ErrorCode.STREAM_CLOSED, done, done],
  ["HEADERS on a stream that was left out", ErrorCode.PROTOCOL_ERROR, request(5, whole), request(3, whole)],
  [
    "a block that cannot be read",
    ErrorCode.COMPRESSION_ERROR,
    frame(FrameType.HEADERS, { id: 1, flags: whole, payload: "\u00ff" }),
  ],
  ["CONTINUATION of nothing", ErrorCode.PROTOCOL_ERROR, frame(FrameType.CONTINUATION, { id: 1, flags: endHeaders })],
  [
    "CONTINUATION after the end",
    ErrorCode.PROTOCOL_ERROR,
    open,
    frame(FrameType.CONTINUATION, { id: 1, flags: endHeaders }),
  ],
  [
    "CONTINUATION on another stream",
    ErrorCode.PROTOCOL_ERROR,
    request(1, 0),
    frame(FrameType.CONTINUATION, { id: 3, flags: endHeaders }),
  ],
  [
    "another frame within a block",
    ErrorCode.PROTOCOL_ERROR,
    request(1, 0),
    frame(FrameType.PING, { payload: Buffer.alloc(8) }),
  ],
  ["an unknown frame within a block", ErrorCode.PROTOCOL_ERROR, request(1, 0), frame(200)],
  ["PRIORITY on no stream", ErrorCode.PROTOCOL_ERROR, frame(FrameType.PRIORITY, { payload: Buffer.alloc(5) })],
  ["PRIORITY of an odd length", ErrorCode.FRAME_SIZE_ERROR, frame(FrameType.PRIORITY, { id: 1, payload: "1234" })],
  [
    "PRIORITY on itself",
    ErrorCode.PROTOCOL_ERROR,
    frame(FrameType.PRIORITY, { id: 3, payload: Buffer.concat([four(3), Buffer.of(0)]) }),
  ],
  ["RST_STREAM on no stream", ErrorCode.PROTOCOL_ERROR, frame(FrameType.RST_STREAM, { payload: four(0) })],
  [
    "RST_STREAM on a stream that is not open",
    ErrorCode.PROTOCOL_ERROR,
    frame(FrameType.RST_STREAM, { id: 1, payload: four(0) }),
  ],
  [
    "RST_STREAM of an odd length",
    ErrorCode.FRAME_SIZE_ERROR,
    open,
    frame(FrameType.RST_STREAM, { id: 1, payload: "123" }),
  ],
  ["DATA on an even stream", ErrorCode.PROTOCOL_ERROR, request(3, endHeaders), frame(FrameType.DATA, { id: 2 })],
  [
    "RST_STREAM on an even stream",
    ErrorCode.PROTOCOL_ERROR,
    ...[request(3, endHeaders), frame(FrameType.RST_STREAM, { id: 2, payload: four(0) })],
  ],
  [
    "WINDOW_UPDATE on an even stream",
    ErrorCode.PROTOCOL_ERROR,
    ...[request(3, endHeaders), frame(FrameType.WINDOW_UPDATE, { id: 2, payload: four(1) })],
  ],
  ["SETTINGS on a stream", ErrorCode.PROTOCOL_ERROR, frame(FrameType.SETTINGS, { id: 1 })],
  ["SETTINGS of an odd length", ErrorCode.FRAME_SIZE_ERROR, frame(FrameType.SETTINGS, { payload: "12345" })],
  [
    "an acknowledgement with a payload",
    ErrorCode.FRAME_SIZE_ERROR,
    frame(FrameType.SETTINGS, { flags: ack, payload: "123456" }),
  ],
  ["ENABLE_PUSH of 2", ErrorCode.PROTOCOL_ERROR, setting(2, 2)],
  ["INITIAL_WINDOW_SIZE of 2^31", ErrorCode.FLOW_CONTROL_ERROR, setting(4, 2 ** 31)],
  ["MAX_FRAME_SIZE too small", ErrorCode.PROTOCOL_ERROR, setting(5, 16_383)],
  ["MAX_FRAME_SIZE too large", ErrorCode.PROTOCOL_ERROR, setting(5, 2 ** 24)],
  [
    "INITIAL_WINDOW_SIZE that makes a window too wide",
    ErrorCode.FLOW_CONTROL_ERROR,
    ...[open, frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(2 ** 31 - 65_536) }), setting(4, 65_537)],
  ],
  [
    "PUSH_PROMISE",
    ErrorCode.PROTOCOL_ERROR,
    open,
    frame(FrameType.PUSH_PROMISE, { id: 1, flags: endHeaders, payload: four(2) }),
  ],
  ["PING on a stream", ErrorCode.PROTOCOL_ERROR, frame(FrameType.PING, { id: 1, payload: Buffer.alloc(8) })],
  ["PING of an odd length", ErrorCode.FRAME_SIZE_ERROR, frame(FrameType.PING, { payload: "1234567" })],
  ["GOAWAY on a stream", ErrorCode.PROTOCOL_ERROR, frame(FrameType.GOAWAY, { id: 1, payload: Buffer.alloc(8) })],
  ["GOAWAY of an odd length", ErrorCode.FRAME_SIZE_ERROR, frame(FrameType.GOAWAY, { payload: "1234567" })],
  ["WINDOW_UPDATE of an odd length", ErrorCode.FRAME_SIZE_ERROR, frame(FrameType.WINDOW_UPDATE, { payload: "123" })],
  ["WINDOW_UPDATE by nothing", ErrorCode.PROTOCOL_ERROR, frame(FrameType.WINDOW_UPDATE, { payload: four(0) })],
  [
    "WINDOW_UPDATE on a stream that is not open",
    ErrorCode.PROTOCOL_ERROR,
    frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(1) }),
  ],
  [
    "WINDOW_UPDATE that makes a window too wide",
    ErrorCode.FLOW_CONTROL_ERROR,
    frame(FrameType.WINDOW_UPDATE, { payload: four(2 ** 31 - 1) }),
  ],
];

test.each(rows(connectionErrors))("%s ends the connection", async (_, code, frames) => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.send(...frames);
  const { payload } = await peer.receives(({ type }) => type === FrameType.GOAWAY);
  expect(payload.readUInt32BE(4)).toBe(code);
  await peer.ended;
});

test.each([
  ["no preface", Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n")],
  ["a preface that is not quite one", Buffer.concat([preface.subarray(0, 23), Buffer.of(0)])],
  ["HEADERS before SETTINGS", Buffer.concat([preface, done])],
  ["an acknowledgement before SETTINGS", Buffer.concat([preface, frame(FrameType.SETTINGS, { flags: ack })])],
])("%s ends the connection", async (_, begin) => {
  await using server = await serveStreams();
  await using peer = await dial(server, begin);
  const { payload } = await peer.receives(({ type }) => type === FrameType.GOAWAY);
  expect(payload.readUInt32BE(4)).toBe(ErrorCode.PROTOCOL_ERROR);
  await peer.ended;
});

const data = (payload: string, more = 0) => frame(FrameType.DATA, { id: 1, flags: more, payload });
const without = (name: string) => plain.filter(([one]) => one !== name);
const headers = (fields: readonly (readonly [string, string])[], more = whole) =>
  frame(FrameType.HEADERS, { id: 1, flags: more, payload: block(fields) });

// Stream errors.
const streamErrors: readonly Row[] = [
  ...malformedFields.map(([what, field]) => [what, ErrorCode.PROTOCOL_ERROR, headers([...plain, field])] as const),
  ["an unknown pseudo-header", ErrorCode.PROTOCOL_ERROR, headers([...plain, [":what", "a"]])],
  ["a pseudo-header of answers", ErrorCode.PROTOCOL_ERROR, headers([...plain, [":status", "200"]])],
  ["a pseudo-header after a field", ErrorCode.PROTOCOL_ERROR, headers([["x", "a"], ...plain])],
  ["two paths", ErrorCode.PROTOCOL_ERROR, headers([...plain, [":path", "/"]])],
  ["no method", ErrorCode.PROTOCOL_ERROR, headers(without(":method"))],
  ["no scheme", ErrorCode.PROTOCOL_ERROR, headers(without(":scheme"))],
  ["no path", ErrorCode.PROTOCOL_ERROR, headers(without(":path"))],
  ["an empty path", ErrorCode.PROTOCOL_ERROR, headers([...without(":path"), [":path", ""]])],
  ["a scheme that is none", ErrorCode.PROTOCOL_ERROR, headers([...without(":scheme"), [":scheme", "ht tp"]])],
  ["a path without a slash", ErrorCode.PROTOCOL_ERROR, headers([...without(":path"), [":path", "a"]])],
  ["the path of OPTIONS for another method", ErrorCode.PROTOCOL_ERROR, headers([...without(":path"), [":path", "*"]])],
  ["a method with a space", ErrorCode.PROTOCOL_ERROR, headers([...without(":method"), [":method", "GET /"]])],
  ["CONNECT with a path", ErrorCode.PROTOCOL_ERROR, headers([...without(":method"), [":method", "CONNECT"]])],
  ["another host than the authority", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["host", "elsewhere"]])],
  ["connection", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["connection", "close"]])],
  ["proxy-connection", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["proxy-connection", "close"]])],
  ["keep-alive", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["keep-alive", "1"]])],
  ["transfer-encoding", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["transfer-encoding", "chunked"]])],
  ["upgrade", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["upgrade", "h2c"]])],
  ["te other than trailers", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["te", "gzip"]])],
  ["a length that is no number", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["content-length", "1a"]])],
  ["a negative length", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["content-length", "-1"]])],
  ["two lengths", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["content-length", "0"], ["content-length", "0"]])],
  ["a length without a body", ErrorCode.PROTOCOL_ERROR, headers([...plain, ["content-length", "1"]])],
  ["a body longer than said", ErrorCode.PROTOCOL_ERROR, request(1, endHeaders, [["content-length", "1"]]), data("ab")],
  [
    "a body shorter than said",
    ErrorCode.PROTOCOL_ERROR,
    request(1, endHeaders, [["content-length", "3"]]),
    data("ab", endStream),
  ],
  [
    "a body shorter than said, before trailers",
    ErrorCode.PROTOCOL_ERROR,
    ...[request(1, endHeaders, [["content-length", "3"]]), data("ab"), headers([["x", "y"]])],
  ],
  [
    "trailers that do not end the request",
    ErrorCode.PROTOCOL_ERROR,
    open,
    data("a"),
    headers([["x", "y"]], endHeaders),
  ],
  ...[...malformedFields, ...neverTrailers].map(
    ([what, field]) => [`trailers with ${what}`, ErrorCode.PROTOCOL_ERROR, open, data("a"), headers([field])] as const,
  ),
  [
    "WINDOW_UPDATE by nothing",
    ErrorCode.PROTOCOL_ERROR,
    open,
    frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(0) }),
  ],
  [
    "WINDOW_UPDATE that makes a window too wide",
    ErrorCode.FLOW_CONTROL_ERROR,
    ...[open, frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(2 ** 31 - 1) })],
  ],
];

test.each(rows(streamErrors))("%s ends the stream, and the connection serves on", async (_, code, frames) => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.send(...frames);
  const { payload } = await peer.receives(({ type, id }) => type === FrameType.RST_STREAM && id === 1);
  expect(payload.readUInt32BE(0)).toBe(code);
  peer.send(request(3, whole));
  await peer.receives(({ type, id, flags }) => type === FrameType.HEADERS && id === 3 && (flags & endStream) !== 0);
});

test.each([
  ["DATA", frame(FrameType.DATA, { id: 1, payload: "a" })],
  ["HEADERS", request(1, whole)],
])("%s after the end of a request that is not answered yet ends the stream", async (_, more) => {
  await using server = await serveStreams(() => {});
  await using peer = await dial(server);
  peer.send(done, more);
  const { payload } = await peer.receives(({ type }) => type === FrameType.RST_STREAM);
  expect(payload.readUInt32BE(0)).toBe(ErrorCode.STREAM_CLOSED);
});

test("DATA after the end of an exchange ends the stream once more", async () => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.send(done, frame(FrameType.DATA, { id: 1, payload: "a" }));
  const { payload } = await peer.receives(({ type }) => type === FrameType.RST_STREAM);
  expect(payload.readUInt32BE(0)).toBe(ErrorCode.STREAM_CLOSED);
});

test("an error of ours ends its connection, is reported, and ends nothing else", async () => {
  const server = await serveStreams(({ headers }) => {
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
  expect((await well.receives(({ type }) => type === FrameType.PING)).payload.toString()).toBe("12345678");
  server.faults.length = 0;
  await server[Symbol.asyncDispose]();
});

test("fields that come more than once are one", async () => {
  const seen = Promise.withResolvers<Fields>();
  await using server = await serveStreams(({ headers }) => seen.resolve(headers));
  await using peer = await dial(server);
  peer.send(
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
  peer.send(
    setting(200, 5),
    frame(FrameType.PRIORITY, { id: 9, payload: Buffer.concat([four(7), Buffer.of(1)]) }),
    frame(99, { id: 4, flags: 0xff, payload: "whatever" }),
    frame(FrameType.HEADERS, {
      ...{ id: 1, flags: endHeaders | padded | priority },
      payload: Buffer.concat([Buffer.of(3), four(0), Buffer.of(9), fields, Buffer.alloc(3)]),
    }),
    frame(FrameType.DATA, { id: 1, flags: padded, payload: "\u0002hello\0\0" }),
    frame(FrameType.DATA, { id: 1, flags: endStream | 0xf0, payload: " there" }),
  );
  const { payload } = await peer.receives(({ type }) => type === FrameType.DATA);
  expect(payload.toString()).toBe("hello there");
});
