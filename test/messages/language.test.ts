import { expect, test } from "vitest";
import { chooseLanguage } from "../../src/messages/catalogue.ts";

const asked = [
  ["de", "de"],
  ["de-CH", "de"],
  ["DE-ch", "de"],
  ["es-419", "es"],
  ["zh-Hant-TW, fr;q=0.5", "fr"],
  ["de-CH, de;q=0.9, en;q=0.8", "de"],
  ["en;q=0.2, fr;q=0.9, de;q=0.5", "fr"],
  ["fr;q=0.5, es;q=0.5", "fr"],
  ["en ; q=0.1 , es ; q=0.2", "es"],
  ["de;q=0, en;q=0.001", "en"],
  ["it, pt;q=0.5", undefined],
  ["de;q=0", undefined],
  ["*", undefined],
  ["", undefined],
  [undefined, undefined],
  ["deutsch", undefined],
  ["de;q=2", undefined],
  ["de;level=1", undefined],
  ["de_CH", undefined],
  [",;q=1,,", undefined],
] as const;

for (const [header, language] of asked) {
  test(`accept-language ${JSON.stringify(header)} gets ${language ?? "none of ours"}`, () => {
    expect(chooseLanguage(header)).toBe(language);
  });
}
