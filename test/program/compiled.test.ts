import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("../../bin/postern", import.meta.url));

// Says at the end of a process whether it loaded the module of Node that strips types.
const witness = `process.on("exit", () => {
  const strips = process.moduleLoadList.some((name) => name.includes("internal/deps/amaro"));
  process.stderr.write(strips ? "strips" : "strips nothing");
});`;

// Nothing answers here, so that the service ends once it has loaded all that it starts with.
const nowhere = {
  DATABASE_URL: "postgresql://x@127.0.0.1:1/none",
  POSTERN_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
};

test("the service strips no types, not even at its first start", { timeout: 600_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-compiled-"));
  await writeFile(join(folder, "witness.cjs"), witness);
  const compiled = join(folder, "compiled");
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: compiled };
  const run = (args: readonly string[], more: Readonly<Record<string, string>>) =>
    promisify(execFile)("sh", [script, ...args], { env: { ...env, ...more } });
  await run(["serve", "--help"], {});
  expect((await readdir(compiled)).length).toBe(1);
  const serving = run(["serve"], { ...nowhere, NODE_OPTIONS: `--require=${join(folder, "witness.cjs")}` });
  const { stderr } = await serving.catch((error: { readonly stderr: string }) => error);
  expect(stderr).toMatch(/^postern: The database cannot be used .*\nstrips nothing$/);
  await rm(folder, { recursive: true });
});
