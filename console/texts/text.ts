import { signal } from "@preact/signals";
import { type Language, languages } from "../languages.ts";
import { wordsIn } from "./words.ts";

export { type Language, languages } from "../languages.ts";

export const languageNames: Readonly<Record<Language, string>> = {
  en: "English",
  de: "Deutsch",
  fr: "Français",
  es: "Español",
};

/** One text in every language, in the order of `languages`; `{name}` stands for a parameter. */
export type Text = readonly [en: string, de: string, fr: string, es: string];
export type Texts = Readonly<Record<string, Text>>;

const chosen = "postern console language";

/** The language of the page: the one chosen here, or the first of the browser's that we have. */
export const language = signal<Language>(preferred());

function preferred(): Language {
  const wanted = [localStorage.getItem(chosen) ?? "", ...navigator.languages].map((tag) => tag.slice(0, 2));
  return wanted.flatMap((tag) => languages.find((one) => one === tag) ?? [])[0] ?? "en";
}

// The words of the loaded languages, by the numbers of texts.
const words: Partial<Record<Language, readonly string[]>> = {};

/** Loads the words of a language; until those of the page's language are loaded, nothing can be shown. */
export async function loadWords(wanted: Language): Promise<void> {
  const found = await wordsIn[wanted]?.();
  if (found) words[wanted] = found.default;
}

/** Remembers the chosen language, also for the next time that the console is opened. */
export const rememberLanguage = (wanted: Language): void => localStorage.setItem(chosen, wanted);

/** Shows the page in a language whose words are loaded, unless another one was chosen since. */
export function showLanguage(wanted: Language): void {
  if (localStorage.getItem(chosen) === wanted) language.value = wanted;
}

/** The text in the language of the page; in the bundle it is a number. */
export function t(text: Text | number, params: Readonly<Record<string, string | number>> = {}): string {
  const shown = language.value;
  const written = (typeof text === "number" ? words[shown]?.[text] : text[languages.indexOf(shown)]) ?? "";
  return written.replace(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole));
}
