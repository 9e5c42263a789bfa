import { expect, test } from "vitest";
import { textOf } from "./tree.ts";

// Licences that let us ship a package, or use it, without a duty beyond naming it. A new one is a decision of its own.
const shipped = [
  "MIT",
  "MIT-0",
  "Apache-2.0",
  "(Apache-2.0 AND BSD-3-Clause)",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "Unlicense",
  "(MIT OR Apache-2.0)",
];
// Tools that never leave the machine of a developer.
const used = [...shipped, "MIT OR Apache-2.0", "MPL-2.0"];

type Locked = {
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
};

const packages = Object.entries(JSON.parse(textOf("package-lock.json")).packages as Record<string, Locked>);
const foreign = packages.filter(([path, { link }]) => path.startsWith("node_modules/") && !link);

test("every package that is installed has a licence that is allowed", () => {
  expect(foreign.length).toBeGreaterThan(50);
  const wrong = foreign.filter(([, { license = "none", dev }]) => !(dev ? used : shipped).includes(license));
  expect(wrong.map(([path, { license, dev }]) => `${path}: ${license}${dev ? ", of a tool" : ""}`)).toEqual([]);
});

test("every package that is installed is pinned by its hash", () => {
  expect(foreign.filter(([, { integrity }]) => !integrity?.startsWith("sha512-")).map(([path]) => path)).toEqual([]);
});

// npm leaves out the address of a package of the registry (`.npmrc`), so one that is there leads elsewhere.
test("no package that is installed comes from anywhere but the registry", () => {
  expect(foreign.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  const links = packages.filter(([path, { link }]) => path.startsWith("node_modules/") && link);
  expect(links.map(([, { resolved }]) => resolved)).toEqual(["console", "packages/gateway"]);
});
