import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { defaultLimits } from "../../src/gateway.ts";

const textOf = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

/** The cells of the rows under a heading. */
async function rowsUnder(heading: string): Promise<string[][]> {
  const [, section = ""] = (await textOf("README.md")).split(`\n## ${heading}\n`);
  const lines = section.split("\n## ")[0]?.split("\n") ?? [];
  return lines.filter((line) => line.startsWith("| `")).map((line) => line.slice(2, -2).split(" | "));
}

test("the table of options names every option of the gateway", async () => {
  const [, type = ""] = /export type GatewayOptions = \{\n(.*?)\n\};/s.exec(await textOf("src/gateway.ts")) ?? [];
  const options = [...type.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => `\`${name}\``);
  expect(options.length).toBeGreaterThan(10);
  expect((await rowsUnder("Options")).map(([name]) => name).sort()).toEqual(options.sort());
});

test("the table of limits is that of the defaults", async () => {
  const written = Object.fromEntries(await rowsUnder("Limits"));
  const defaults = Object.entries(defaultLimits).map(([name, value]) => [`\`${name}\``, String(value)]);
  expect(written).toEqual(Object.fromEntries(defaults));
});

test("every name that the README takes from the package is exported", async () => {
  const gateway = Object.keys(await import("../../src/gateway.ts"));
  expect(gateway).toEqual(expect.arrayContaining(["callerKey", "refuseWith", "englishTexts", "refusal"]));
  expect(gateway).toEqual(expect.arrayContaining(["callMetrics", "metricsRoute", "gateway"]));
});
