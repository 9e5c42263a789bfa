import { expect, test } from "vitest";
import { ErrorCode, Flag, FrameType } from "../../../src/http/http2/rfc9113.ts";
import { block, dial, four, frame, hello, request, serveStreams, setting } from "./peer.ts";

const { END_STREAM: endStream, END_HEADERS: endHeaders } = Flag;
const whole = endHeaders | endStream;
const many = (count: number, one: (index: number) => Buffer) => Array.from({ length: count }, (_, index) => one(index));
const reset = (id: number) => frame(FrameType.RST_STREAM, { id, payload: four(8) });
const padding = (id: number) =>
  frame(FrameType.DATA, { id, flags: Flag.PADDED, payload: Buffer.alloc(9, 0).fill(8, 0, 1) });
const odd = (index: number) => 2 * index + 1;

// What costs its sender nothing, more often than anybody needs it.
const floods: readonly (readonly [what: string, frames: readonly Buffer[]])[] = [
  ["PING", many(3000, () => frame(FrameType.PING, { payload: "12345678" }))],
  ["acknowledgements", many(300, () => frame(FrameType.SETTINGS, { flags: Flag.ACK }))],
  ["answers to PING", many(3000, () => frame(FrameType.PING, { flags: Flag.ACK, payload: "12345678" }))],
  ["SETTINGS", many(300, () => setting(4, 5))],
  ["PRIORITY", many(3000, () => frame(FrameType.PRIORITY, { id: 9, payload: Buffer.alloc(5) }))],
  ["WINDOW_UPDATE", many(3000, () => frame(FrameType.WINDOW_UPDATE, { payload: four(1) }))],
  ["frames that nobody knows", many(3000, () => frame(77))],
  ["empty DATA", [request(1, endHeaders), ...many(3000, () => frame(FrameType.DATA, { id: 1 }))]],
  ["DATA of nothing but padding", [request(1, endHeaders), ...many(3000, () => padding(1))]],
  [
    "empty DATA for a stream that was answered before its end",
    [request(3, endHeaders), ...many(3000, () => frame(FrameType.DATA, { id: 3 }))],
  ],
  [
    "DATA for streams that are closed",
    [request(1, whole), ...many(3000, () => frame(FrameType.DATA, { id: 1, payload: "a" }))],
  ],
  ["empty CONTINUATION", [request(1, 0), ...many(100, () => frame(FrameType.CONTINUATION, { id: 1 }))]],
  [
    "a block without an end",
    [
      request(1, 0),
      ...many(20, () => frame(FrameType.CONTINUATION, { id: 1, payload: block([["x", "a".repeat(10_000)]]) })),
    ],
  ],
  ["requests that are reset", many(300, (index) => Buffer.concat([request(odd(index), whole), reset(odd(index))]))],
  ["RST_STREAM for streams that are closed", [request(1, whole), reset(1), ...many(3000, () => reset(1))]],
  ["requests that are malformed", many(300, (index) => request(odd(index), whole, [["X", "y"]]))],
  [
    "streams that we have to reset",
    many(300, (index) =>
      Buffer.concat([
        request(odd(index), endHeaders),
        frame(FrameType.WINDOW_UPDATE, { id: odd(index), payload: four(0) }),
      ]),
    ),
  ],
  ["requests beyond the limit", many(3000, (index) => request(odd(index), whole))],
];

test.each(floods)("%s: too many end the connection", async (_, frames) => {
  await using server = await serveStreams((stream) => stream.id === 3 && stream.answer({ status: 200, headers: {} }));
  await using peer = await dial(server);
  peer.send(...frames);
  const { payload } = await peer.receives(({ type }) => type === FrameType.GOAWAY);
  expect(payload.readUInt32BE(4)).toBe(ErrorCode.ENHANCE_YOUR_CALM);
  await peer.ended;
});

test("a client that calls often may also send WINDOW_UPDATE often", async () => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  const calls = 3000;
  for (let index = 0; index < calls; index += 1) {
    const id = odd(index);
    peer.send(
      request(id, whole),
      frame(FrameType.WINDOW_UPDATE, { payload: four(1) }),
      frame(FrameType.PING, { payload: "12345678" }),
    );
    if (index % 50 === 0) await peer.receives((received) => received.id === id && (received.flags & endStream) !== 0);
  }
  await peer.receives((received) => received.id === odd(calls - 1) && (received.flags & endStream) !== 0);
  expect(peer.received.filter(({ type }) => type === FrameType.GOAWAY)).toEqual([]);
});

test("one request too many at once is refused, and may be tried again", async () => {
  await using server = await serveStreams(() => {}, { streamsMax: 2 });
  await using peer = await dial(server);
  peer.send(request(1, whole), request(3, whole), request(5, whole));
  const refused = await peer.receives(({ type }) => type === FrameType.RST_STREAM);
  expect([refused.id, refused.payload.readUInt32BE(0)]).toEqual([5, ErrorCode.REFUSED_STREAM]);
});

test("fields that are too many or too large are reported to the handler, and what follows is read", async () => {
  const seen: boolean[] = [];
  await using server = await serveStreams(({ flaw }) => void seen.push(flaw === "HEADERS_TOO_LARGE"));
  await using peer = await dial(server);
  const large = ["x", "a".repeat(5000)] as const;
  const fields = Array.from({ length: 65 }, (_, index) => [`x-${index}`, "a"] as const);
  const piece = (more: number) => frame(FrameType.CONTINUATION, { id: 5, flags: more, payload: block([large]) });
  peer.send(
    ...[request(1, whole, [large]), request(3, whole, fields), request(5, endStream), piece(0), piece(endHeaders)],
    ...[request(7, whole, fields.slice(1)), frame(FrameType.PING, { payload: "12345678" })],
  );
  await peer.receives(({ type }) => type === FrameType.PING);
  expect(seen).toEqual([true, true, true, false]);
});

test.each([
  ["sends nothing", Buffer.alloc(0)],
  ["stops within the preface", hello.subarray(0, 20)],
  ["sends no SETTINGS", hello.subarray(0, 24)],
  ["stops within a frame", Buffer.concat([hello, request(1, whole).subarray(0, 15)])],
  ["stops within a block", Buffer.concat([hello, request(1, 0)])],
])("a client that %s is not waited for", async (_, begin) => {
  await using server = await serveStreams(() => {}, { headerTimeoutMs: 50 });
  await using peer = await dial(server, begin);
  await peer.ended;
});
