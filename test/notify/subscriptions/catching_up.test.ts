import { expect, test, vi } from "vitest";
import { oneConnection } from "../../events/log_of.ts";
import { holdTable } from "../../fixture/held_row.ts";
import { organization, startPostern } from "../../harness.ts";

const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

test("however many subscriptions of an organization are behind, reading the log leaves connections to others", async () => {
  await using postern = await startPostern({ databaseConnections: 8 });
  const [behind, other] = [await organization(postern), await organization(postern)];
  const post = (path: string, body: object, owner: string) =>
    postern.admin.post(path, body, { "x-service-orgid": owner });
  const { projectId } = (await post("/v1/projects", { name: "Neighbour" }, other)).body;
  const subscription = { url: "https://192.168.7.7/", types: ["organization.purged"] };
  for (let n = 0; n < 20; n += 1) expect((await post("/v1/subscriptions", subscription, behind)).status).toBe(200);
  await using client = oneConnection(postern.databaseUrl);
  const { sql } = client;
  const awake = () => sql`select from subscription_deliveries where due < 'infinity'`;
  await eventually(async () => expect(await awake()).toHaveLength(0));

  {
    await using _held = await holdTable(postern.databaseUrl, "event_numbers");
    await sql`update subscription_deliveries set due = now(), number = 0, batch = ''`;
    // As if each of them read a log of millions of events.
    await eventually(async () => {
      expect(await sql`select from subscription_deliveries where lease > 1`).not.toHaveLength(0);
      expect(await readers()).toBeGreaterThan(1);
    });
    for (let n = 0; n < 5; n += 1) {
      const read = await postern.admin.get(`/v1/projects/${projectId}`, { "x-service-orgid": other });
      expect([read.status, await readers()]).toEqual([200, expect.toSatisfy((count: number) => count <= 4)]);
    }
  }
  await eventually(async () => expect(await awake()).toHaveLength(0));

  /** How many statements of subscriptions are reading the log. */
  async function readers(): Promise<number> {
    const rows = await sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%"isLast"%from event_numbers where number > %'`;
    return rows.length;
  }
}, 120_000);
