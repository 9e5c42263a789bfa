import postgres from "postgres";
import { expect, test } from "vitest";
import { clientOptions, driverUrl } from "../../src/postgres/pool/connect.ts";
import { startServer } from "../../src/server/server.ts";
import { freshDatabase } from "../database.ts";
import { clientOf, startPostern } from "../harness.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };

// A dump keeps the transaction ids of its events as numbers, and the cluster it is restored into counts from its own.
test("after a restore the log goes on in a new epoch, and followers miss nothing", async () => {
  await using db = await freshDatabase();
  const config = await (async () => {
    await using postern = await startPostern({ databaseUrl: db.url });
    await postern.admin.post("/v1/projects", { name: "before" });
    return postern.config;
  })();
  await pretendRestored(db.url);
  await using server = await startServer(config);
  const admin = clientOf(server.url, config.adminToken);
  await admin.post("/v1/projects", { name: "after" });
  const { body } = await admin.get("/v1/events?types=project.created");
  expect(
    body.events.map(({ fact }: { fact: { project: { created: { name: string } } } }) => fact.project.created.name),
  ).toEqual(["after", "before", "Sample project"]);
  expect(body.events[0].position).toMatch(/^2\./);
});

async function pretendRestored(url: string): Promise<void> {
  const sql = postgres(driverUrl(url), { ...clientOptions(url, log), max: 1 });
  await sql.unsafe(`alter table events disable trigger events_are_kept;
    update events set xid = ((xid::text)::bigint + 4000000000)::text::xid8;
    alter table events enable trigger events_are_kept`);
  await sql.end();
}
