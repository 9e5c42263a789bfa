import { test } from "vitest";
import { openFull } from "../full_disk.ts";
import { found } from "../programs.ts";
import { endure } from "../rounds.ts";

test.skipIf(!found("mount"))("five full disks lose no acknowledged write", { timeout: 600_000 }, async () => {
  await using stage = await openFull();
  await endure({ ...stage, faults: unhurried(stage.faults) }, { rounds: 5, projects: 20_000 });
});

const unhurried = (faults: Awaited<ReturnType<typeof openFull>>["faults"]) =>
  Object.fromEntries(Object.entries(faults).map(([name, { isSlow: _, ...fault }]) => [name, fault]));
