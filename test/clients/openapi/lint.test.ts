import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { startPostern } from "../../harness.ts";
import { ended } from "../command.ts";
import { root } from "../workshop.ts";

const folder = join(root, "node_modules/.cache/postern-clients/openapi-lint");
const document = join(folder, "openapi.json");
const linters = { "@stoplight/spectral-cli": "6.16.3", "@redocly/cli": "2.77.0" };

beforeAll(async () => {
  await using postern = await startPostern();
  await install();
  await writeFile(document, await (await fetch(`${postern.url}/openapi.json`)).text());
  await writeFile(join(folder, "ruleset.json"), JSON.stringify({ extends: ["spectral:oas"] }));
}, 600_000);

/** Installs the linters into a folder of their own, once for each version of them. */
async function install(): Promise<void> {
  const manifest = JSON.stringify({ private: true, dependencies: linters });
  const installed = join(folder, "installed.json");
  if ((await readFile(installed, "utf8").catch(() => "")) === manifest) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), manifest);
  const { code, out, err } = await ended(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: folder,
  });
  if (code !== 0) throw new Error(out + err);
  await writeFile(installed, manifest);
}

const run = (linter: string, ...more: string[]) =>
  ended([join(folder, "node_modules/.bin", linter), ...more], { cwd: folder });

test("Spectral finds nothing in the document", async () => {
  const { out, err } = await run(
    "spectral",
    "lint",
    "--ruleset",
    "ruleset.json",
    "--format",
    "json",
    "--quiet",
    document,
  );
  const found: readonly { readonly code: string }[] = JSON.parse(out || err);
  expect(found.map(({ code }) => code)).toEqual([]);
});

test("Redocly finds nothing in the document", async () => {
  const { out, err } = await run("redocly", "lint", "--format", "json", document);
  expect(out, err).not.toBe("");
  expect(JSON.parse(out)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
});
