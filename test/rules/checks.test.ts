import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./tree.ts";

/** Runs commands in a shell that counts checks; answers what it printed, and how it ended. */
function counted(commands: string, cwd = root): { readonly lines: readonly string[]; readonly code: number } {
  const script = `. ${join(root, ".ci/count")}; failures=/dev/null; ${commands}; end`;
  try {
    return { lines: linesOf(execFileSync("bash", ["-c", script], { cwd, encoding: "utf8" })), code: 0 };
  } catch (error) {
    const { stdout, status } = error as { stdout: string; status: number };
    return { lines: linesOf(stdout), code: status };
  }
}

/** The lines, without the seconds that a check took. */
const linesOf = (output: string): string[] =>
  output
    .trim()
    .split("\n")
    .map((line) => line.replace(/, \d+ s, \d+ s of CPU$/, ""));

test("a check that checked nothing counts as skipped, neither as passed nor as failed", () => {
  expect(counted('check one true; check two sh -c "exit 77"')).toEqual({
    lines: ["ok: one", "skipped: two", "1 skipped: they checked nothing", "1 passed, 0 failed"],
    code: 0,
  });
});

test("a check that fails is named, and fails the run", () => {
  expect(counted("check one false; check two true")).toEqual({
    lines: ["FAILED: one", "ok: two", "1 passed, 1 failed"],
    code: 1,
  });
});

test("a check that ran beside others says what it found when it is asked, and one that never ended has failed", () => {
  const kept = mkdtempSync(join(tmpdir(), "postern-checks-"));
  try {
    const began = `keep ${kept}/one sh -c "echo found; exit 77" & keep ${kept}/two false & wait`;
    const asked = ["one", "two", "three"].map((name) => `check ${name} ended ${kept}/${name} 2>/dev/null`).join("; ");
    expect(counted(`${began}; ${asked}`)).toEqual({
      lines: [
        "found",
        "skipped: one",
        "FAILED: two",
        "FAILED: three",
        "1 skipped: they checked nothing",
        "0 passed, 2 failed",
      ],
      code: 1,
    });
  } finally {
    rmSync(kept, { recursive: true, force: true });
  }
});

test("a clone without the last release compares no contract, and says so", () => {
  const clone = mkdtempSync(join(tmpdir(), "postern-clone-"));
  try {
    mkdirSync(join(clone, ".ci"));
    cpSync(join(root, ".ci/breaking"), join(clone, ".ci/breaking"));
    execFileSync("git", ["init", "--quiet"], { cwd: clone });
    const { lines, code } = counted("check contract sh .ci/breaking", clone);
    expect([lines.slice(1), code]).toEqual([
      ["skipped: contract", "1 skipped: they checked nothing", "0 passed, 0 failed"],
      0,
    ]);
    expect(lines[0]).toMatch(/^this clone lacks \w+: nothing was compared$/);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
});
