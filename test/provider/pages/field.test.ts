import { expect, test } from "vitest";
import { durationText } from "../../../src/messages/page.ts";
import { field, problemsOf } from "../../../src/provider/pages/field.ts";
import { html } from "../../../src/provider/pages/html.ts";

const code = { name: "code", label: "Code", attributes: html`maxlength="20"` };

test("a field that is wrong says so, and its problem is read with it", () => {
  expect(field(code).html).not.toMatch(/aria-invalid|autofocus/);
  const [, described] =
    /aria-invalid="true" aria-describedby="(\w+)"/.exec(field({ ...code, isWrong: true }).html) ?? [];
  expect(problemsOf(["<no>"]).html).toContain(`<div id="${described}"><p class="bad" role="alert">&lt;no&gt;</p>`);
  expect(problemsOf([]).html).toBe("");
});

test("the field in which people begin has the focus", () => {
  expect(field({ ...code, hasFocus: true }).html).toMatch(/ autofocus>$/);
});

test.each([
  [1, "1 second", "1 Sekunde", "1 seconde", "1 segundo"],
  [90, "90 seconds", "90 Sekunden", "90 secondes", "90 segundos"],
  [900, "15 minutes", "15 Minuten", "15 minutes", "15 minutos"],
])("a wait of %i s is written as people say it", (seconds, en, de, fr, es) => {
  const words = (["en", "de", "fr", "es"] as const).map((language) => durationText(seconds, language));
  expect(words.map((one) => one.replace(/\s/g, " "))).toEqual([en, de, fr, es]);
});
