import { expect, test } from "vitest";
import { FrameReader } from "../../../src/http/http2/frame_reader.ts";
import { ConnectionError } from "../../../src/http/http2/rfc9113.ts";
import { frame } from "./peer.ts";
import { seeded } from "./seeded.ts";

const lines = [
  frame(4, {}),
  frame(1, { id: 1, flags: 4, payload: "fields" }),
  frame(0, { id: 2 ** 31 - 1, flags: 1, payload: Buffer.alloc(16_384, "x") }),
  frame(6, { payload: "12345678" }),
];
const all = Buffer.concat(lines);

function received(chunks: readonly Buffer[], goesOn = true): Buffer[] {
  const frames: Buffer[] = [];
  const reader = new FrameReader(({ type, flags, streamId: id, bytes, start, end }) => {
    frames.push(frame(type, { flags, id, payload: Buffer.from(bytes.subarray(start, end)) }));
    return goesOn;
  });
  for (const chunk of chunks) for (let at = 0; at < chunk.length; ) at += reader.read(chunk.subarray(at));
  expect(reader.isIncomplete).toBe(false);
  return frames;
}

test("frames are found wherever the chunks are cut", () => {
  expect(received([all])).toEqual(lines);
  for (let at = 0; at <= 40; at += 1) expect(received([all.subarray(0, at), all.subarray(at)])).toEqual(lines);
  expect(received(Array.from(all, (byte) => Buffer.of(byte)))).toEqual(lines);
  for (let at = 0; at <= 40; at += 1) expect(received([all.subarray(0, at), all.subarray(at)], false)).toEqual(lines);
  const random = seeded(3);
  for (let round = 0; round < 200; round += 1) {
    const cuts = Array.from({ length: random(9) }, () => random(all.length)).sort((a, b) => a - b);
    expect(received([...cuts, all.length].map((end, index) => all.subarray(cuts[index - 1] ?? 0, end)))).toEqual(lines);
  }
});

test("what lies behind the frame at which a reader is stopped is left", () => {
  const reader = new FrameReader(() => false);
  expect(reader.read(all)).toBe(lines[0]?.length);
});

test("a frame in one piece is not copied", () => {
  let seen: ArrayBufferLike | undefined;
  new FrameReader(({ bytes }) => {
    seen = bytes.buffer;
    return true;
  }).read(all);
  expect(seen).toBe(all.buffer);
});

test("a frame above MAX_FRAME_SIZE is refused by its header, whole or in pieces", () => {
  const header = Buffer.from([0, 0x40, 1, 0, 0, 0, 0, 0, 1]);
  expect(() => received([header])).toThrow(ConnectionError);
  expect(() => received([header.subarray(0, 4), header.subarray(4)])).toThrow(ConnectionError);
});

test("the reserved bit of a stream identifier is ignored", () => {
  let id = 0;
  new FrameReader((one) => {
    id = one.streamId;
    return true;
  }).read(Buffer.from([0, 0, 0, 0, 0, 0x80, 0, 0, 7]));
  expect(id).toBe(7);
});
