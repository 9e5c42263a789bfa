/** A set of words that can be searched for one. */
export type WordSet = { readonly has: (word: string) => boolean };

const separator = "\n";

/** Keeps many words in one text with a table of where each begins, in a fifth of the memory of a Set of strings. */
export function wordSet(words: ReadonlySet<string>): WordSet {
  const text = [...words, ""].join(separator);
  // Indexed by hash, at most half full. 0 means free; otherwise, the word's position plus one.
  const starts = new Uint32Array(2 ** Math.ceil(Math.log2(2 * words.size + 2)));
  let start = 0;
  for (const word of words) {
    starts[placeOf(word)] = start + 1;
    start += word.length + separator.length;
  }
  return { has: (word) => !word.includes(separator) && starts[placeOf(word)] !== 0 };

  /** Returns the slot of a word, or the free one where it would go. */
  function placeOf(word: string): number {
    let place = hashOf(word) % starts.length;
    for (let taken = starts[place]; taken; taken = starts[place]) {
      if (text.startsWith(word, taken - 1) && text.startsWith(separator, taken - 1 + word.length)) break;
      place = (place + 1) % starts.length;
    }
    return place;
  }
}

/** The FNV-1a hash of a text's UTF-16 units. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
