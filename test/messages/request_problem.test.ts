import { expect, test } from "vitest";
import { languages } from "../../src/messages/language.ts";
import { requestProblemTexts } from "../../src/messages/request_problem.ts";

const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

for (const [key, texts] of Object.entries(requestProblemTexts)) {
  test(`${key} is the end of a sentence in every language, about the same things`, () => {
    const all = languages.map((language) => texts[language]);
    expect(new Set(all).size).toBe(languages.length);
    for (const text of all) {
      expect(text).not.toMatch(/[.!?…]$| {2}/);
      expect(placeholders(text)).toEqual(placeholders(texts.en));
    }
    const { de, ...others } = texts;
    // After a colon, a German sentence begins with a capital, unless it begins with a parameter.
    expect(de).toMatch(/^(\p{Lu}|\{name\}|resource )/u);
    for (const text of Object.values(others)) expect(text).not.toMatch(/^\p{Lu}/u);
  });

  test(`${key} has in English the characters of an error_description (RFC 6749, 5.2)`, () => {
    expect(texts.en).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  });
}
