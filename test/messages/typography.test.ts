import { expect, test } from "vitest";
import { type Language, namesIn, text, textKeys } from "../../src/messages/catalogue.ts";
import { accountLabel, linkLabel, mailTexts } from "../../src/messages/mail_texts.ts";
import { pageTexts } from "../../src/messages/page.ts";

/** Every text of a language: of refusals, of pages and of mails. */
function textsIn(language: Language): string[] {
  const mails = Object.values(mailTexts).flatMap((texts) => Object.values(texts[language]));
  const pages = Object.values(pageTexts).map((texts) => texts[language]);
  const refusals = textKeys().map((key) => text(key, language, namesIn(key)));
  return [...refusals, ...pages, ...mails, accountLabel[language], linkLabel[language]];
}

const thatMatch = (language: Language, pattern: RegExp) => textsIn(language).filter((one) => pattern.test(one));

// The colon of a URI or of a time is none of a sentence.
const sign = /[;!?»]|:(?!\/\/|port|\d)/;

test("French has a narrow no-break space before ; : ! ? and within « », and curved apostrophes", () => {
  expect(thatMatch("fr", new RegExp(`(?<!\u202f)(?:${sign.source})`))).toEqual([]);
  expect(thatMatch("fr", /«(?!\u202f)|\u00a0|'|"/)).toEqual([]);
  expect(thatMatch("fr", /\u202f/).length).toBeGreaterThan(50);
});

test("Spanish opens its questions and exclamations", () => {
  expect(thatMatch("es", /^[^¿]*\?|^[^¡]*!/)).toEqual([]);
  expect(thatMatch("es", /¿.*\?/).length).toBeGreaterThan(3);
});

test("each language has its own quotation marks, and no space before a colon but in French", () => {
  expect(thatMatch("de", /["'«»“](?<!„[^“]*“)/)).toEqual([]);
  expect(thatMatch("es", /["'„“]/)).toEqual([]);
  for (const language of ["en", "de", "es"] as const) expect(thatMatch(language, /\s[;:!?]/)).toEqual([]);
});

test("users are addressed formally", () => {
  expect(thatMatch("de", /\b(?:du|dich|dir|dein\w*)\b/i)).toEqual([]);
  expect(thatMatch("fr", /(?<!\p{L})(?:tu|toi|ton|ta|tes)(?!\p{L})/iu)).toEqual([]);
  expect(thatMatch("es", /(?<!\p{L})(?:tú|tu|tus|te|ti|contigo|vuestr\p{L}*)(?!\p{L})/iu)).toEqual([]);
});

// A passkey is a llave, as a clave is a password as well. Factors are enregistrés, as inscription is of users.
const retired: Readonly<Partial<Record<Language, RegExp>>> = {
  es: /clave de acceso/i,
  fr: /inscri/i,
  de: /\bId\b/,
};

test("one thing has one name in a language", () => {
  for (const [language, pattern] of Object.entries(retired))
    expect([language, thatMatch(language as Language, pattern)]).toEqual([language, []]);
});
