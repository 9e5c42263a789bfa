import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { contrast, ourColors, shownColors } from "../../../src/services/organizations/shown_colors.ts";

const none = { accentColor: "", backgroundColor: "", darkAccentColor: "", darkBackgroundColor: "" };

test("the contrast of colours is that of WCAG", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
  expect(contrast("#ff0000", "#ff0000")).toBe(1);
});

test("whatever colours are set, text of them and on them has a contrast of 4.5 to 1, in light and in dark", () => {
  const steps = ["00", "33", "66", "99", "cc", "ff"];
  for (const red of steps)
    for (const green of steps)
      for (const blue of steps) {
        const accentColor = `#${red}${green}${blue}`;
        const { light, dark } = shownColors({ ...none, accentColor });
        expect(contrast(light.accentColor, ourColors.light.card)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(dark.accentColor, ourColors.dark.card)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(light.textColor, light.accentColor)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(dark.textColor, dark.accentColor)).toBeGreaterThanOrEqual(4.5);
      }
});

test("a colour that can be read stays as it is, and one that cannot is changed no further than it takes", () => {
  const { light, dark } = shownColors({ ...none, accentColor: "#00527a", darkAccentColor: "#9fe8d0" });
  expect([light.accentColor, dark.accentColor]).toEqual(["#00527a", "#9fe8d0"]);
  const pale = shownColors({ ...none, accentColor: "#00c8ff" }).light.accentColor;
  expect(contrast(pale, "#ffffff")).toBeLessThan(4.7);
});

test("pages without a branding have the colours of their stylesheet", () => {
  const css = readFileSync(new URL("../../../src/provider/pages/page.css", import.meta.url), "utf8");
  const [light = "", dark = ""] = css.split("@media (prefers-color-scheme: dark)");
  for (const [text, { card, accent, ground }] of [
    [light, ourColors.light],
    [dark, ourColors.dark],
  ] as const)
    for (const line of [`--card: ${card};`, `--accent: ${accent};`, `--ground: ${ground};`])
      expect(text).toContain(line);
  const shown = shownColors(none);
  expect([shown.light.accentColor, shown.dark.accentColor]).toEqual([ourColors.light.accent, ourColors.dark.accent]);
});
