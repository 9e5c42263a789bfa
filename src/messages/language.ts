/** The languages that texts are written in. */
export const languages = ["en", "de", "fr", "es"] as const;

export type Language = (typeof languages)[number];

/** One text in every language; `{name}` stands for a parameter. */
export type Texts = Readonly<Record<Language, string>>;

/** The languages by their own names. */
export const languageNames: Readonly<Record<Language, string>> = {
  en: "English",
  de: "Deutsch",
  fr: "Français",
  es: "Español",
};

/** Finds the language of ours that an accept-language header (RFC 9110, 12.5.4) prefers; undefined if it names none. */
export function chooseLanguage(acceptLanguage: string | undefined): Language | undefined {
  let best: { language: Language; weight: number } | undefined;
  for (const range of (acceptLanguage ?? "").split(",")) {
    const language = languageOf(range);
    const weight = weightOf(range);
    if (language && weight > (best?.weight ?? 0)) best = { language, weight };
  }
  return best?.language;
}

function languageOf(range: string): Language | undefined {
  const primary = /^\s*([a-z]{2})(?:-[a-z0-9]{1,8})*\s*(?:;|$)/i.exec(range)?.[1]?.toLowerCase();
  return languages.find((language) => language === primary);
}

function weightOf(range: string): number {
  const at = range.indexOf(";");
  if (at < 0) return 1;
  const weight = /^\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i.exec(range.slice(at + 1))?.[1];
  return weight === undefined ? 0 : Number(weight);
}
