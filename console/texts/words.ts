import type { Language } from "../languages.ts";

/** Loads the words of a language, by the numbers of texts. */
type Words = () => Promise<{ readonly default: readonly string[] }>;

/**
 * The files of the languages. The bundle has them, and numbers in place of texts, so that a browser loads one language (see
 * `console/language_files.ts`); elsewhere each text contains its words.
 */
export const wordsIn: Readonly<Partial<Record<Language, Words>>> = {};
