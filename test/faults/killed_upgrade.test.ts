import { test } from "vitest";
import { canUpgrade, upgradeKilled } from "./killed_upgrade.ts";

test.skipIf(!canUpgrade)(
  "an upgrade whose node is killed again and again goes on where it was, and ends as one that nobody killed",
  // Each kill costs the start of a node, which takes seconds on a busy machine.
  { timeout: 1_800_000 },
  () => upgradeKilled({ every: 12 }),
);
