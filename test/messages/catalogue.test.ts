import { expect, test } from "vitest";
import { errorText, isTextKey, type Language, type TextKey, text, textKeys } from "../../src/messages/catalogue.ts";

const languages: Language[] = ["en", "de", "fr", "es"];
const placeholders = (sentence: string) => (sentence.match(/\{\w+\}/g) ?? []).sort();
const everything = {
  id: "{id}",
  name: "{name}",
  fields: "{fields}",
  uris: "{uris}",
  min: "{min}",
  max: "{max}",
  limit: "{limit}",
  more: "{more}",
  currentSequence: "{currentSequence}",
};
const raw = (key: TextKey, language: Language) => text(key, language, everything);

for (const key of textKeys()) {
  test(`${key} is one sentence in every language, about the same things`, () => {
    expect(key).toMatch(/^[A-Z]+(?:_[A-Z]+)*$/);
    const sentences = languages.map((language) => raw(key, language));
    for (const sentence of sentences) {
      expect(sentence).toMatch(/^\p{Lu}[^.!?]*(?:\.\S[^.!?]*)*\.$/u);
      expect(sentence).not.toMatch(/ {2}|…| $|^ /);
      expect(placeholders(sentence)).toEqual(placeholders(sentences[0] ?? ""));
    }
    expect(new Set(sentences).size).toBe(4);
  });
}

test("parameters are filled in once, as they are", () => {
  expect(text("USER_NOT_FOUND", "de", { id: "42" })).toBe("Der Benutzer 42 existiert nicht.");
  expect(text("PASSWORD_TOO_SHORT", "fr", { min: 8 })).toContain("au moins 8 caractères");
  expect(text("USER_NOT_FOUND", "en", { id: "$& {id} {name}" })).toBe("User $& {id} {name} does not exist.");
});

test("a parameter that is missing, or named like something every object has, leaves a gap", () => {
  expect(text("USER_NOT_FOUND", "en")).toBe("User … does not exist.");
  expect(isTextKey("toString")).toBe(false);
  expect(isTextKey("USER_NOT_FOUND")).toBe(true);
});

test("an error message begins small and ends open", () => {
  expect(errorText("USER_NOT_FOUND", { id: "42" })).toBe("user 42 does not exist");
  expect(errorText("LOGIN_NAME_TAKEN", { name: "Ada" })).toBe('login name "Ada" is taken');
});
