import { test } from "vitest";
import { openFull } from "../full_disk.ts";
import { found } from "../programs.ts";
import { endure } from "../rounds.ts";

test.skipIf(!found("mount"))("five full disks lose no acknowledged write", { timeout: 600_000 }, async () => {
  await using stage = await openFull();
  await endure(stage, { rounds: 5, projects: 20_000 });
});
