import { describe, expect, test } from "vitest";
import { brandingTexts } from "../../console/texts/branding.ts";
import { sentences, types } from "../../console/texts/sentences.ts";
import type { Text } from "../../console/texts/text.ts";
import { FactSchema } from "../../gen/postern/v1/event_pb.ts";
import { languages } from "../../src/messages/language.ts";
import { type PageText, pageText } from "../../src/messages/page.ts";

const typesOfContract = FactSchema.fields.flatMap((noun) =>
  noun.fieldKind === "message" ? noun.message.fields.map(({ name }) => `${noun.name}.${name}`) : [],
);

describe("what events say in the console", () => {
  test("there is a sentence for each type of event", () => {
    expect(typesOfContract.length).toBeGreaterThan(100);
    expect([...types].sort()).toEqual([...typesOfContract].sort());
  });

  test("a sentence speaks of the same in every language", () => {
    const placesIn = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort().join();
    const differing = Object.entries(sentences).filter(([, text]) => new Set(text.map(placesIn)).size > 1);
    expect(differing).toEqual([]);
  });

  test("a sentence names only what an event has", () => {
    const general = ["actor", "user", "object", "project", "organization", "app", "roles"];
    const wrong = Object.entries(sentences).flatMap(([type, text]) => {
      const fields = fieldsOf(type.replace(":self", ""));
      return [...text[0].matchAll(/\{(\w+)\}/g)]
        .map(([, name = ""]) => name)
        .filter((name) => !general.includes(name) && !fields.includes(name))
        .map((name) => `${type} ${name}`);
    });
    expect(wrong).toEqual([]);
  });
});

function fieldsOf(type: string): readonly string[] {
  const [noun, fact] = type.split(".");
  const message = FactSchema.fields.find(({ name }) => name === noun)?.message;
  return message?.fields.find(({ name }) => name === fact)?.message?.fields.map(({ localName }) => localName) ?? [];
}

test("the preview of a branding has the words of the sign-in page", () => {
  const shown: readonly (readonly [Text, PageText])[] = [
    [brandingTexts.signIn, "sign_in"],
    [brandingTexts.toApplication, "to_application"],
    [brandingTexts.loginName, "name_or_email"],
    [brandingTexts.password, "password"],
    [brandingTexts.forgotten, "forgotten"],
    [brandingTexts.terms, "terms"],
    [brandingTexts.privacy, "privacy"],
    [brandingTexts.help, "help"],
  ];
  for (const [text, name] of shown)
    expect([...text]).toEqual(languages.map((one) => pageText(name, one, { application: "{application}" })));
});
