import { Flag, FrameType } from "../../../src/http/http2/rfc9113.ts";
import { block, four, frame, request, setting } from "./peer.ts";

const { END_STREAM: endStream, END_HEADERS: endHeaders } = Flag;
const whole = endHeaders | endStream;
const many = (count: number, one: (index: number) => Buffer) => Array.from({ length: count }, (_, index) => one(index));
const reset = (id: number) => frame(FrameType.RST_STREAM, { id, payload: four(8) });
const padding = (id: number) =>
  frame(FrameType.DATA, { id, flags: Flag.PADDED, payload: Buffer.alloc(9, 0).fill(8, 0, 1) });
const odd = (index: number) => 2 * index + 1;

/** Frames that cost their sender nothing, in numbers that no client needs. */
export const floods: readonly (readonly [what: string, frames: readonly Buffer[]])[] = [
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
  ["requests that are malformed", many(3000, (index) => request(odd(index), whole, [["X", "y"]]))],
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
