import { four, frame, setting } from "../peer.ts";
import { type Draw, noise, once, oneOf } from "./field_block.ts";

/** Breaks the rules in some places of a conversation. */
export function mutated(draw: Draw, frames: readonly Buffer[]): Buffer[] {
  let result = [...frames];
  for (let count = oneOf(draw, [0, 0, 1, 1, 1, 2, 4]); count > 0; count -= 1) result = mutate(draw, result);
  return result;
}

function mutate(draw: Draw, frames: readonly Buffer[]): Buffer[] {
  const at = draw(frames.length);
  const chosen = frames[at] ?? Buffer.alloc(0);
  const replaced = (...by: readonly Buffer[]) => frames.toSpliced(at, 1, ...by);
  return oneOf(draw, [
    () => replaced(flipped(draw, chosen)),
    () => replaced(flipped(draw, chosen)),
    () => replaced(),
    () => replaced(chosen, chosen),
    () => replaced().toSpliced(draw(frames.length), 0, chosen),
    () => replaced(edited(chosen, 4, draw(256))),
    () => replaced(edited(chosen, 3, draw(12))),
    () => replaced(edited(chosen, 8, draw(12))),
    () => replaced(edited(chosen, 2, draw(256))),
    () => replaced(edited(chosen, 4, (chosen[4] ?? 0) ^ (1 << draw(8)))),
    () => replaced(resized(draw, chosen)),
    () => replaced(chosen, inserted(draw)),
    () => replaced(chosen, inserted(draw)),
    () => [...frames.slice(0, at), noise(draw, draw(60)), ...frames.slice(once(draw, 2) ? at : frames.length)],
  ] as const)();
}

function flipped(draw: Draw, bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes;
  const at = draw(bytes.length);
  return edited(bytes, at, (bytes[at] ?? 0) ^ (1 << draw(8)));
}

function edited(bytes: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(bytes);
  if (at < copy.length) copy[at] = value;
  return copy;
}

/** Another length, which the frame header goes by. */
function resized(draw: Draw, bytes: Buffer): Buffer {
  if (bytes.length < 9) return bytes;
  const payload = bytes.subarray(9);
  const other = once(draw, 2)
    ? payload.subarray(0, draw(payload.length + 1))
    : Buffer.concat([payload, noise(draw, 1 + draw(10))]);
  const copy = Buffer.concat([bytes.subarray(0, 9), other]);
  copy.writeUIntBE(other.length, 0, 3);
  return copy;
}

function inserted(draw: Draw): Buffer {
  const id = draw(10);
  return oneOf(draw, [
    () => frame(draw(12), { flags: draw(256), id, payload: noise(draw, draw(40)) }),
    () => frame(3, { id, payload: four(draw(16)) }),
    () => frame(8, { id, payload: four(oneOf(draw, [0, 1, 65_535, 2 ** 31 - 1, 2 ** 31])) }),
    () => frame(7, { payload: Buffer.concat([four(0), four(draw(14))]) }),
    () => frame(6, { flags: draw(2), payload: noise(draw, 8) }),
    () => setting(draw(10), oneOf(draw, [0, 1, 2, 16_383, 16_384, 65_535, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1])),
    () => frame(9, { id, flags: draw(2) * 4, payload: noise(draw, draw(10)) }),
    () => frame(5, { id, flags: 4, payload: four(2) }),
    () => frame(0, { id, flags: draw(2), payload: noise(draw, draw(30)) }),
    () => frame(2, { id, payload: Buffer.concat([four(draw(10)), Buffer.of(draw(256))]) }),
  ] as const)();
}
