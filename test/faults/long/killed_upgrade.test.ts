import { test } from "vitest";
import { canUpgrade, upgradeKilled } from "../killed_upgrade.ts";

test.skipIf(!canUpgrade)(
  "an upgrade whose node is killed at nearly every step goes on where it was, and ends as one that nobody killed",
  { timeout: 3_600_000 },
  () => upgradeKilled({ every: 3 }),
);
