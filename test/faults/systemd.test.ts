import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { settings } from "../../src/config/config.ts";
import { found } from "./programs.ts";

const run = promisify(execFile);
const unit = fileURLToPath(new URL("../../deploy/postern.service", import.meta.url));
const compose = fileURLToPath(new URL("../../deploy/compose.yaml", import.meta.url));

/** The number of seconds that follows a word in a file. */
async function seconds(path: string, word: string): Promise<number> {
  const [, written] = new RegExp(`${word}(\\d+)s$`, "m").exec(await readFile(path, "utf8")) ?? [];
  return Number(written);
}

test("a stop is given more time than it can take", async () => {
  const usual = (name: string) => Number(settings.find((one) => one.name === name)?.default) / 1000;
  const shippedDelay = 5;
  const longest = shippedDelay + usual("SHUTDOWN_GRACE_MS") + usual("SMS_TIMEOUT_MS");
  expect(await readFile(compose, "utf8")).toContain(`SHUTDOWN_DELAY_MS: ${shippedDelay * 1000}\n`);
  expect(await seconds(unit, "TimeoutStopSec=")).toBeGreaterThan(longest);
  expect(await seconds(compose, "stop_grace_period: ")).toBeGreaterThan(longest);
});

describe.skipIf(!found("systemd-analyze"))("the unit of systemd", () => {
  test("is understood, line by line", async () => {
    const { stdout, stderr } = await run("systemd-analyze", ["verify", unit]);
    expect(stdout + stderr).toBe("");
  });

  test("confines the service: the exposure is at most 2 of 10", async () => {
    const { stdout } = await run("systemd-analyze", ["security", "--offline=true", "--threshold=20", unit]);
    expect(stdout).toContain("Overall exposure level");
  });
});
