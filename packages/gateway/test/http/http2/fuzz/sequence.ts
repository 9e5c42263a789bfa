import { preface } from "../../../../src/http/http2/rfc9113.ts";
import { seeded } from "../seeded.ts";
import { conversation } from "./conversation.ts";
import { type Draw, noise, once } from "./field_block.ts";
import { mutated } from "./mutation.ts";

/** The frames that a client sends after the preface. */
export type Sequence = { readonly frames: readonly Buffer[]; readonly cuts: Draw | undefined };

/** The sequence of a seed. */
export function sequenceOf(seed: number): Sequence {
  const draw = seeded(seed);
  const frames = once(draw, 30) ? [noise(draw, draw(200))] : mutated(draw, conversation(draw));
  return { frames, cuts: once(draw, 4) ? draw : undefined };
}

/** The bytes of a sequence in the chunks that they are sent in. */
export function chunksOf({ frames, cuts }: Sequence): Buffer[] {
  const all = Buffer.concat([preface, ...frames]);
  if (!cuts) return [all];
  const chunks: Buffer[] = [];
  for (let at = 0; at < all.length; ) {
    const end = at + 1 + cuts(40);
    chunks.push(all.subarray(at, end));
    at = end;
  }
  return chunks;
}
