import { test } from "vitest";
import { inHistory } from "../fixture/history.ts";
import { zeroOne } from "./earlier_release.ts";
import { servedVersions } from "./postgres_versions.ts";
import { upgradeUnderTraffic } from "./upgrade.ts";

// On PostgreSQL 18, killed_upgrade.test.ts upgrades it.
const commit = zeroOne;
const version = 15;
const bin = servedVersions().get(version);

test.skipIf(!inHistory(commit) || !bin)(
  `a database of ${commit} on PostgreSQL ${version} is upgraded under traffic, and no call fails at a node of before or of after`,
  { timeout: 900_000 },
  async () => void (await upgradeUnderTraffic({ commit, bin: bin ?? "", users: 2_000, events: 20_000, calls: 300 })),
);
