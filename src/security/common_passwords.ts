import { createRequire } from "node:module";
import { givenNames, passwordWords } from "./common_words.ts";
import { type WordSet, wordSet } from "./word_set.ts";

/** The passwords that attackers guess first: a published list, and our own. */
export type CommonPasswords = WordSet;

const KEYBOARD_LINES = [
  "1234567890",
  "qwertyuiop",
  "qwertzuiop",
  "asdfghjkl",
  "zxcvbnm",
  "yxcvbnm",
  "azertyuiop",
  "qsdfghjklm",
  "abcdefghijklmnopqrstuvwxyz",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
  "1q2w3e4r5t6y7u8i9o0p",
  "q1w2e3r4t5y6u7i8o9p0",
  "qazwsxedcrfvtgbyhnujm",
  "a1b2c3d4e5f6g7h8i9",
  "1a2b3c4d5e6f7g8h9i",
  "!@#$%^&*()",
  '!"§$%&/()=',
];

const SHORT_PIECE = 4;

const LOVED = ["ilove", "iloveyou", "love", "my", "the", "hello", "ihate"];

const LEET: Readonly<Record<string, string>> = {
  "@": "a",
  "4": "a",
  "8": "b",
  "(": "c",
  "3": "e",
  "€": "e",
  "6": "g",
  "9": "g",
  "0": "o",
  $: "s",
  "5": "s",
  "7": "t",
  "+": "t",
  "2": "z",
};

let loaded: WordSet | undefined;

/** The passwords found most often in stolen lists, and our own; loaded for the first lookup in the process. */
export const commonPasswords: CommonPasswords = {
  has(word) {
    loaded ??= wordSet(commonWords());
    return loaded.has(word);
  },
};

// One long text is folded in a fifth of the time of all the words.
/** The passwords from stolen lists and our own, without duplicates. */
export const commonWords = (): ReadonlySet<string> =>
  new Set([...ownWords(), ...folded(publishedPasswords().join("\n")).split("\n")]);

type Language = { readonly dictionary: Readonly<Record<"passwords-common", readonly string[]>> };

/** Reads the published list and then unloads its package, whose text and words would otherwise stay in memory next to ours. */
function publishedPasswords(): readonly string[] {
  const require = createRequire(import.meta.url);
  const before = new Set(Object.keys(require.cache));
  const { dictionary } = require("@zxcvbn-ts/language-common") as Language;
  for (const path of Object.keys(require.cache)) if (!before.has(path)) delete require.cache[path];
  return dictionary["passwords-common"];
}

/** Common passwords from words, names, keyboard walks and declarations of love. */
function ownWords(): ReadonlySet<string> {
  const names = wordsOf(givenNames);
  const loved = names.flatMap((name) => LOVED.map((word) => word + name));
  const walks = KEYBOARD_LINES.flatMap((line) => [...walksOn(line), ...walksOn([...line].reverse().join(""))]);
  return new Set([...wordsOf(passwordWords), ...names, ...loved, ...walks]);
}

/**
 * Whether a password is common once case, accents, leetspeak, symbols and surrounding digits are removed, or is a date, or repeats a short
 * piece or a common word.
 */
export function isCommonPassword(password: string, common: CommonPasswords): boolean {
  const plain = folded(password);
  const piece = repeatedPiece(plain);
  if ((piece !== plain && piece.length <= SHORT_PIECE) || isDate(plain)) return true;
  const stems = [...stemsOf(plain), ...stemsOf(piece), ...stemsOf(withoutSymbols(plain))];
  return stems.some((stem) => common.has(stem) || common.has(repeatedPiece(stem)));
}

const folded = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// "Pass@word1" is a common password with a symbol inserted.
const withoutSymbols = (plain: string): string => plain.replace(/[^\p{L}\p{Nd}]/gu, "");

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

function walksOn(line: string): string[] {
  const walks: string[] = [];
  for (let start = 0; start < line.length; start++) {
    for (let end = start + 3; end <= line.length; end++) walks.push(line.slice(start, end));
  }
  return walks;
}

// Many digits around a short word are a choice, not an addition: "sun83749201847" is not among the first guesses.
function stemsOf(plain: string): string[] {
  const bare = withoutTail(plain, /[^\p{L}\p{Nd}]/u);
  const cuts = [plain, bare, withoutTail(bare, /\P{L}/u)];
  return [...cuts, ...cuts.map(withoutHead)]
    .filter((cut) => bare.length <= 3 * cut.length)
    .flatMap((cut) => [cut, unleet(cut, "i"), unleet(cut, "l")]);
}

// A pattern such as /\P{L}+$/ takes quadratic time for a thousand digits before a letter; a loop from the end does not.
function withoutTail(text: string, dropped: RegExp): string {
  let end = text.length;
  while (end > 0 && dropped.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function withoutHead(text: string): string {
  return text.replace(/^\P{L}+/u, "");
}

function unleet(text: string, one: "i" | "l"): string {
  return text.replace(/[^a-z]/g, (symbol) =>
    symbol === "1" || symbol === "!" || symbol === "|" ? one : (LEET[symbol] ?? symbol),
  );
}

function repeatedPiece(text: string): string {
  return text.slice(0, (text + text).indexOf(text, 1));
}

function isDate(text: string): boolean {
  const digits = text.replace(/[-./ ]/g, "");
  return /^(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|[12]\d|3[01])(?:19|20)\d\d)$/.test(
    digits,
  );
}
