import { test } from "vitest";
import { inHistory } from "../fixture/history.ts";
import { servedVersions } from "./postgres_versions.ts";
import { upgradeUnderTraffic } from "./upgrade.ts";

const bins = servedVersions();
// 0.1.0, and the last commit whose migrations were single transactions.
const upgrades = [
  { commit: "253f142", version: 15 },
  { commit: "1ea6420a", version: 18 },
];

for (const { commit, version } of upgrades)
  test.skipIf(!inHistory(commit) || !bins.has(version))(
    `a database of ${commit} on PostgreSQL ${version} is upgraded under traffic, and no call fails at a node of before or of after`,
    { timeout: 900_000 },
    async () =>
      void (await upgradeUnderTraffic({
        commit,
        bin: bins.get(version) ?? "",
        users: 2_000,
        events: 20_000,
        calls: 500,
      })),
  );
