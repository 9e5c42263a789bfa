import { describe, expect, test } from "vitest";
import { inHistory } from "../../fixture/history.ts";
import { servedVersions } from "../postgres_versions.ts";
import { upgradeUnderTraffic } from "../upgrade.ts";

const release = "253f142";
const versions = [...servedVersions()].filter(([major]) => major === 15 || major === 18);
const [users, events] = [200_000, 2_000_000];

describe.each(versions)("on PostgreSQL %i", (_, bin) => {
  test.skipIf(!inHistory(release))(
    `a database that 0.1.0 filled with ${users} users and ${events} events is upgraded under traffic: no call fails, p99 at most 5 x`,
    { timeout: 7_200_000 },
    async () => {
      const { before, since } = await upgradeUnderTraffic({ commit: release, bin, users, events, calls: 3_000 });
      expect(since / before).toBeLessThanOrEqual(5);
    },
  );
});
