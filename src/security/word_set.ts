/** A set of words that can be asked for one. */
export type WordSet = { readonly has: (word: string) => boolean };

const separator = "\n";

/** Keeps many words in one text and one table of where each begins, in a fifth of the memory of a Set of strings. */
export function wordSet(words: ReadonlySet<string>): WordSet {
  const text = [...words, ""].join(separator);
  // By hash; at most half of the places are taken. 0 is free, else where the word begins, plus one.
  const starts = new Uint32Array(2 ** Math.ceil(Math.log2(2 * words.size + 2)));
  let start = 0;
  for (const word of words) {
    starts[placeOf(word)] = start + 1;
    start += word.length + separator.length;
  }
  return { has: (word) => !word.includes(separator) && starts[placeOf(word)] !== 0 };

  /** Returns the place of a word, or the free one in which it would stand. */
  function placeOf(word: string): number {
    let place = hashOf(word) % starts.length;
    for (let taken = starts[place]; taken; taken = starts[place]) {
      if (text.startsWith(word, taken - 1) && text.startsWith(separator, taken - 1 + word.length)) break;
      place = (place + 1) % starts.length;
    }
    return place;
  }
}

/** The hash of a text by FNV-1a, of its UTF-16 units. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
