import { Flag, FrameType } from "../../../../src/http/http2/rfc9113.ts";
import { four, frame, setting } from "../peer.ts";
import { BlockEncoder, type Draw, noise, oddLine, once, oneOf, requestFields } from "./field_block.ts";

/** Draws a conversation of a client that keeps to the rules, frame by frame; its first frame is SETTINGS. */
export function conversation(draw: Draw): Buffer[] {
  const encoder = new BlockEncoder(draw);
  const frames: Buffer[] = [settings(draw)];
  const running: Buffer[][] = [];
  let streams = 1 + draw(4);
  let id = 1;
  while (streams > 0 || running.length > 0) {
    if (once(draw, 6)) frames.push(connectionFrame(draw, id));
    if (streams > 0 && (running.length === 0 || once(draw, 2))) {
      streams -= 1;
      const { opening, rest } = stream(draw, encoder, id);
      frames.push(...opening);
      if (rest.length > 0) running.push(rest);
      id += 2 * (once(draw, 8) ? 2 : 1);
    } else {
      const at = draw(running.length);
      const next = running[at]?.shift();
      if (next) frames.push(next);
      if (running[at]?.length === 0) running.splice(at, 1);
    }
  }
  return frames;
}

function settings(draw: Draw): Buffer {
  if (once(draw, 3)) return frame(FrameType.SETTINGS);
  const [name, value] = oneOf<readonly [number, number]>(draw, [
    [1, 0],
    [1, 4096],
    [1, 65_536],
    [2, 0],
    [3, 100],
    [4, 65_535],
    [4, 1_000_000],
    [4, 100],
    [5, 16_384],
    [5, 1_000_000],
    [6, 10_000],
    [99, 7],
  ]);
  return setting(name, value);
}

function connectionFrame(draw: Draw, id: number): Buffer {
  const open = Math.max(1, id - 2);
  return oneOf(draw, [
    () => frame(FrameType.PING, { payload: noise(draw, 8) }),
    () => settings(draw),
    () => frame(FrameType.SETTINGS, { flags: Flag.ACK }),
    () => frame(FrameType.WINDOW_UPDATE, { payload: four(1 + draw(100_000)) }),
    () => frame(FrameType.PRIORITY, { id: open, payload: Buffer.concat([four(0), Buffer.of(draw(256))]) }),
    () => frame(10 + draw(200), { flags: draw(256), id: draw(6), payload: noise(draw, draw(20)) }),
  ] as const)();
}

type Stream = { readonly opening: readonly Buffer[]; readonly rest: Buffer[] };

function stream(draw: Draw, encoder: BlockEncoder, id: number): Stream {
  const parts = Array.from({ length: draw(4) }, () => noise(draw, oneOf(draw, [0, 1, 5, 200, 3000])));
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const fields = requestFields(draw, length);
  const isWhole = parts.length === 0;
  // Other blocks are sent between the head and its trailers, so the trailers are literals that enter no table.
  const trailers = !isWhole && once(draw, 4);
  const odd = once(draw, 6) ? [oddLine(draw)] : [];
  const block = Buffer.concat([encoder.encode(fields), ...odd]);
  const opening = headers(draw, { id, block, endsStream: isWhole });
  const rest = parts.map((part, at) => data(draw, { id, part, endsStream: at === parts.length - 1 && !trailers }));
  if (trailers) {
    const literal = Buffer.concat([Buffer.from([0, 1]), Buffer.from("t"), Buffer.from([1]), Buffer.from("v")]);
    // No CONTINUATION: others would come in between.
    rest.push(frame(FrameType.HEADERS, { id, flags: Flag.END_HEADERS | Flag.END_STREAM, payload: literal }));
  } else if (!isWhole && once(draw, 12)) rest[draw(rest.length)] = reset(draw, id);
  return { opening, rest };
}

const reset = (draw: Draw, id: number) =>
  frame(FrameType.RST_STREAM, { id, payload: four(oneOf(draw, [0, 1, 5, 8, 11, 99])) });

type Block = { readonly id: number; readonly block: Buffer; readonly endsStream: boolean };

function headers(draw: Draw, { id, block, endsStream }: Block): Buffer[] {
  const cuts = once(draw, 4) ? Array.from({ length: draw(4) }, () => draw(block.length + 1)).sort((a, b) => a - b) : [];
  const fragments = [...cuts, block.length].map((end, at) => block.subarray(cuts[at - 1] ?? 0, end));
  return fragments.map((fragment, at) => {
    const end = at === fragments.length - 1 ? Flag.END_HEADERS : 0;
    if (at > 0) return frame(FrameType.CONTINUATION, { id, flags: end, payload: fragment });
    const priority = once(draw, 6) ? Buffer.concat([four(draw(2) * 2 ** 31), Buffer.of(draw(256))]) : Buffer.alloc(0);
    const flags = end | (endsStream ? Flag.END_STREAM : 0) | (priority.length > 0 ? Flag.PRIORITY : 0);
    return padded(draw, { type: FrameType.HEADERS, id, flags, payload: Buffer.concat([priority, fragment]) });
  });
}

type Data = { readonly id: number; readonly part: Buffer; readonly endsStream: boolean };

const data = (draw: Draw, { id, part, endsStream }: Data) =>
  padded(draw, { type: FrameType.DATA, id, flags: endsStream ? Flag.END_STREAM : 0, payload: part });

type Padded = { readonly type: number; readonly id: number; readonly flags: number; readonly payload: Buffer };

function padded(draw: Draw, { type, id, flags, payload }: Padded): Buffer {
  if (!once(draw, 5)) return frame(type, { id, flags, payload });
  const padding = draw(20);
  const bytes = Buffer.concat([Buffer.of(padding), payload, Buffer.alloc(padding)]);
  return frame(type, { id, flags: flags | Flag.PADDED, payload: bytes });
}
