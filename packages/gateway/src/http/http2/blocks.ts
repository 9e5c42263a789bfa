import { type Head, HeadBuilder, type HeadLimits } from "./head.ts";
import { Decoder } from "./hpack/decoder.ts";

/** Bytes of a block, where they lie. */
export type Block = { readonly bytes: Buffer; readonly start: number; readonly end: number };

const mostKnown = 16;
const longestKnown = 2048;

/** Reads the blocks of a connection; a client that says the same again, as most do, is understood at once. */
export class Blocks {
  readonly #decoder = new Decoder();
  readonly #limits: HeadLimits;
  // Blocks that changed no table, as long as nobody does: then the same bytes mean the same.
  readonly #known = new Map<string, Head>();
  #changes = 0;

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  /** The head in a block, or undefined for a request that is malformed. */
  request({ bytes, start, end }: Block): Head | undefined {
    const key = end - start <= longestKnown ? bytes.toString("latin1", start, end) : "";
    const known = this.#known.get(key);
    if (known) return known;
    const builder = new HeadBuilder(this.#limits);
    const same = this.#decode({ bytes, start, end }, builder);
    const head = builder.request();
    if (head && key !== "" && same) this.#remember(key, head);
    return head;
  }

  /** Reads fields that follow a body; answers whether they may. */
  trailers(block: Block): boolean {
    const builder = new HeadBuilder(this.#limits);
    this.#decode(block, builder);
    return builder.areTrailers();
  }

  /** Answers whether the table is still the same. */
  #decode({ bytes, start, end }: Block, builder: HeadBuilder): boolean {
    this.#decoder.decode(bytes, { start, end }, builder);
    if (this.#decoder.changes === this.#changes) return true;
    this.#changes = this.#decoder.changes;
    if (this.#known.size > 0) this.#known.clear();
    return false;
  }

  #remember(key: string, head: Head): void {
    if (this.#known.size >= mostKnown) this.#known.clear();
    // Everybody who says the same is given this one.
    Object.freeze(head.fields);
    this.#known.set(key, head);
  }
}
