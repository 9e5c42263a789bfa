import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { migrate } from "../../../src/postgres/migrate.ts";
import { freshDatabase } from "../../database.ts";
import { warningsOnly } from "../../fixture/database_client.ts";
import { schemaOf } from "../../fixture/database_schema.ts";
import { inHistory, unpack } from "../../fixture/history.ts";

// 0.1.0, and the last commit whose migrations were single transactions.
const earlier = ["253f142", "1ea6420a"];

for (const commit of earlier)
  test.skipIf(!inHistory(commit))(`a database that ${commit} migrated gets the same tables as a new one`, async () => {
    await using upgraded = await freshDatabase({ empty: true });
    await migrateTo(commit, upgraded.url);
    await migrate({ url: upgraded.url, log: warningsOnly });
    await using fresh = await freshDatabase();
    const expected = await schemaOf(fresh.url);
    expect(expected.length).toBeGreaterThan(500);
    expect(await schemaOf(upgraded.url)).toEqual(expected);
  });

async function migrateTo(commit: string, url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "postern-history-"));
  await unpack(commit, folder, "src/postgres/migrations");
  await migrate({ url, log: warningsOnly, folder: join(folder, "src/postgres/migrations") });
  await rm(folder, { recursive: true });
}
