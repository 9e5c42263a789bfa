import postgres from "postgres";
import { expect, test } from "vitest";
import { clientOptions, driverUrl } from "../../src/postgres/pool/connect.ts";
import { startServer } from "../../src/server/server.ts";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
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
  const [latest, earlier] = body.events;
  const { body: later } = await admin.get(`/v1/events?types=project.created&pageSize=1`);
  expect(later.events[0].position).toBe(latest.position);
  await using client = openClient(db.url);
  const epochs = await client.client`select distinct epoch from events order by epoch`;
  expect(epochs.map(({ epoch }) => epoch)).toEqual([1, 2]);
  const stream = await fetch(`${server.url}/v1/events:watch?types=project.created&after=${earlier.position}`, {
    headers: { authorization: `Bearer ${config.adminToken}`, accept: "application/x-ndjson" },
  });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain(latest.position);
  await reader?.cancel();
});

async function pretendRestored(url: string): Promise<void> {
  const sql = postgres(driverUrl(url), { ...clientOptions(url, log), max: 1 });
  await sql.unsafe(`alter table events disable trigger events_are_kept;
    update events set xid = ((xid::text)::bigint + 4000000000)::text::xid8;
    alter table events enable trigger events_are_kept;
    update event_numbers set xid = ((xid::text)::bigint + 4000000000)::text::xid8;
    update event_batches set snapshot = format('%s:%s:', (pg_snapshot_xmin(snapshot)::text)::bigint + 4000000000,
      (pg_snapshot_xmax(snapshot)::text)::bigint + 4000000000)::pg_snapshot`);
  await sql.end();
}
