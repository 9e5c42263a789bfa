import { type Head, HeadBuilder, type HeadLimits } from "./head.ts";
import { Decoder } from "./hpack/decoder.ts";
import { blockCacheEntries, blockCacheEntryBytes } from "./limits.ts";

/** An encoded field block, in place. */
export type HeaderBlock = { readonly bytes: Buffer; readonly start: number; readonly end: number };

/** Decodes the field blocks of a connection, and caches requests that clients repeat byte for byte. */
export class HeaderBlockCache {
  readonly #decoder = new Decoder();
  readonly #limits: HeadLimits;
  // Blocks that did not change the dynamic table, kept until it changes, because until then the same bytes have the same meaning.
  readonly #heads = new Map<string, Head>();
  #tableChanges = 0;

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  /** The head in a block; undefined for a malformed request. */
  request({ bytes, start, end }: HeaderBlock): Head | undefined {
    const key = end - start <= blockCacheEntryBytes ? bytes.toString("latin1", start, end) : "";
    const cached = this.#heads.get(key);
    if (cached) return cached;
    const builder = new HeadBuilder(this.#limits);
    const isTableUnchanged = this.#decode({ bytes, start, end }, builder);
    const head = builder.request();
    if (head && key !== "" && isTableUnchanged) this.#cache(key, head);
    return head;
  }

  /** Decodes trailers; false for malformed ones. */
  trailers(block: HeaderBlock): boolean {
    const builder = new HeadBuilder(this.#limits);
    this.#decode(block, builder);
    return builder.areTrailers();
  }

  /** Decodes a block; true if it did not change the dynamic table. */
  #decode({ bytes, start, end }: HeaderBlock, builder: HeadBuilder): boolean {
    this.#decoder.decode(bytes, { start, end }, builder);
    if (this.#decoder.tableChanges === this.#tableChanges) return true;
    this.#tableChanges = this.#decoder.tableChanges;
    if (this.#heads.size > 0) this.#heads.clear();
    return false;
  }

  #cache(key: string, head: Head): void {
    if (this.#heads.size >= blockCacheEntries) this.#heads.clear();
    // Shared by all requests with these bytes.
    Object.freeze(head.fields);
    this.#heads.set(key, head);
  }
}
