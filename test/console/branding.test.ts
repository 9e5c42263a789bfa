import { expect, test } from "vitest";
import { plain } from "../../console/branding/colors.ts";
import { ourColors } from "../../src/services/organizations/shown_colors.ts";

test("where a branding says no colour, the console knows that of the pages", () => {
  const { light, dark } = ourColors;
  expect({ light, dark }).toMatchObject(plain);
});
