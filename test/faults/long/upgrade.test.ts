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

// The last commit whose migrations were single transactions.
const transactions = "1ea6420a";
const newest = servedVersions().get(18);

test.skipIf(!inHistory(transactions) || !newest)(
  `a database of ${transactions} on PostgreSQL 18 is upgraded under traffic, and no call fails at a node of before or of after`,
  { timeout: 900_000 },
  async () =>
    void (await upgradeUnderTraffic({
      ...{ commit: transactions, bin: newest ?? "" },
      ...{ users: 2_000, events: 20_000, calls: 500 },
    })),
);
