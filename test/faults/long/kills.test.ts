import { test } from "vitest";
import { killUnderWriters } from "../kills.ts";

test("twenty kills of each process lose no acknowledged write and double none", { timeout: 1_800_000 }, async () => {
  await killUnderWriters({ rounds: 20, projects: 40_000 });
});
