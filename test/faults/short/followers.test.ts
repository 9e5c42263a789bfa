import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Sql } from "../../../src/postgres/pool/connect.ts";
import { newToken } from "../../../src/security/token.ts";
import { freshDatabase } from "../../database.ts";
import { follow, logOf, seenBy, wait, write } from "../../events/followers.ts";
import { oneConnection } from "../../events/log_of.ts";
import { startNode } from "../../first_start.ts";
import { clientOf } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { freePort } from "../../wire/free_port.ts";
import { untilReady } from "../rounds.ts";

/** How many events have no number. */
async function unnumbered(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select (select count(*) from events)::int - (select count(*) from event_numbers)::int as count`;
  return row?.count ?? 0;
}

for (const { signal, what } of [
  { signal: "SIGKILL", what: "killed" },
  { signal: "SIGSTOP", what: "frozen" },
] as const)
  test(`followers at another node go on when the node that numbers events is ${what}`, async () => {
    await using opened = new AsyncDisposableStack();
    const { url: databaseUrl } = opened.use(await freshDatabase());
    const dataDir = await mkdtemp(join(tmpdir(), "postern-followers-"));
    opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
    const token = newToken("pt");
    const start = async () =>
      opened.use(await startNode({ databaseUrl, dataDir, port: await freePort(), adminToken: token }));
    const other = await start();
    await untilReady(other);
    const follower = opened.use(follow({ url: other.url, admin: clientOf(other.url, token), token }));
    const ids = () => seenBy(follower).map(({ objectId }) => objectId);
    const times: number[] = [];
    const client = opened.use(oneConnection(databaseUrl));
    for (let round = 0; round < 3; round++) {
      const node = await start();
      await untilReady(node);
      const admin = clientOf(node.url, token);
      // It numbers what it writes; the other node, where nobody writes, only looks from time to time.
      await write({ admin }, 20);
      let isStopped = false;
      const writers = Array.from({ length: 4 }, async () => {
        while (!isStopped) await admin.post("/v1/projects", { name: crypto.randomUUID() }).catch(() => {});
      });
      await vi.waitFor(() => expect(ids().length).toBeGreaterThan(20 * (round + 1)), wait);
      // As if it were numbering a batch when it is struck, so that there is something left for the other one.
      await client.sql`select pg_advisory_lock(7710653298)`;
      await vi.waitFor(async () => expect(await unnumbered(client.sql)).toBeGreaterThan(10), wait);
      isStopped = true;
      node.signal(signal);
      expect(await unnumbered(client.sql)).toBeGreaterThan(10);
      await client.sql`select pg_advisory_unlock(7710653298)`;
      const struck = Date.now();
      // Without a call to the other node: its followers see all that the struck one has committed.
      await vi.waitFor(async () => {
        const written = await ask(databaseUrl, "select stream from events where type = 'project.created'");
        expect(ids()).toHaveLength(written.length);
        expect(ids()).toEqual(await logOf(databaseUrl));
      }, wait);
      times.push(Date.now() - struck);
      node.signal("SIGKILL");
      await node.exited;
      await Promise.all(writers);
    }
    expect(new Set(ids()).size).toBe(ids().length);
    console.log(`followers had caught up ${times.join(", ")} ms after the node was ${what}`);
  }, 240_000);
