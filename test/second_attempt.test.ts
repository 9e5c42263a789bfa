import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const reporter = fileURLToPath(new URL("./second_attempt.ts", import.meta.url));

test("a test that passed at the second attempt is named at the end of the run, and no other is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-attempts-"));
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const [config, tests] = [join(folder, "vitest.config.mjs"), join(folder, "some.test.mjs")];
  await writeFile(
    config,
    `import { nameSecondAttempts } from ${JSON.stringify(reporter)};
     export default { test: { globals: true, retry: 1, reporters: ["dot", nameSecondAttempts] } };`,
  );
  await writeFile(
    tests,
    `let attempts = 0;
     test("at once", () => {});
     describe("a machine", () => test("that is slow", () => expect(++attempts).toBe(2)));`,
  );
  const { stdout } = await run(process.execPath, [vitest, "run", "--root", folder, "--config", config]);
  expect(stdout.split("\n").filter((line) => line.startsWith("passed at"))).toEqual([
    "passed at the second attempt: some.test.mjs > a machine > that is slow",
  ]);
});
