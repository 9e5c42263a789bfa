import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { startNode } from "../first_start.ts";
import { openClient } from "../fixture/database_client.ts";
import { clientOf } from "../harness.ts";
import { loopback } from "../provider/https_server.ts";
import { certificateFor } from "../wire/certificate.ts";
import { freePort } from "../wire/free_port.ts";
import { untilReady } from "./rounds.ts";

const program = fileURLToPath(new URL("./event_receiver.ts", import.meta.url));

type Certificate = { readonly certFile: string; readonly keyFile: string };

/** A receiver that can be killed and started again, with what it has accepted. */
async function openReceiver({ certFile, keyFile }: Certificate, file: string) {
  const port = String(await freePort());
  const start = async () => {
    const child = spawn(process.execPath, [program, port, certFile, keyFile, file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    return child;
  };
  let child = await start();
  const kill = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return {
    url: `https://localhost:${port}/`,
    kill,
    async start() {
      child = await start();
    },
    async accepted() {
      const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").slice(0, -1);
      return lines.map((line) => line.split(" ") as [object: string, sequence: string, id: string]);
    },
    [Symbol.asyncDispose]: kill,
  };
}

const [objects, versions] = [120, 25];

/** Commits events in the order of their objects' versions, a few at a time, as calls do. */
async function writeEvents(databaseUrl: string, owner: string) {
  await using database = openClient(databaseUrl);
  for (let version = 1; version <= versions; version += 1) {
    await database.client`
      insert into events (owner, stream, version, type, payload, request_id, time)
      select ${owner}, 'object' || n, ${version}, ${version === 1 ? "project.created" : "project.changed"},
        jsonb_build_object('name', 'p' || n), 'r', now() from generate_series(1, ${objects}) n`;
    await pause(1_000);
  }
}

/** Lets the time pass for which a killed node had leased the subscription, more than a minute, unless the other node goes on. */
async function passLease(databaseUrl: string, accepted: () => Promise<readonly unknown[]>) {
  const before = (await accepted()).length;
  await pause(5_000);
  if ((await accepted()).length > before) return;
  await using database = openClient(databaseUrl);
  await database.client`update subscription_deliveries set due = now()`;
}

test("of 3,000 events none is missing, whatever happens to the receiver and to the nodes", async () => {
  await using opened = new AsyncDisposableStack();
  const { url: databaseUrl } = opened.use(await freshDatabase());
  const folder = await mkdtemp(join(tmpdir(), "postern-subscriptions-"));
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const certificate = opened.use(await certificateFor("localhost"));
  const receiver = opened.use(await openReceiver(certificate, join(folder, "accepted")));
  const adminToken = newToken("pt");
  const env = { OUTGOING_CA_FILE: certificate.certFile, OUTGOING_PRIVATE_NETWORKS: loopback.join() };
  const started = async () => {
    const node = opened.use(await startNode({ databaseUrl, dataDir: folder, port: await freePort(), adminToken, env }));
    await untilReady(node);
    return node;
  };
  const nodes = [await started(), await started()];
  const admin = clientOf(nodes[0]?.url ?? "", adminToken);
  const { organizationId } = (await admin.post("/v1/organizations", { name: "Subscribed" })).body;
  const inside = { "x-service-orgid": organizationId };
  const wanted = { url: receiver.url, types: ["project.created", "project.changed"] };
  expect((await admin.post("/v1/subscriptions", wanted, inside)).status).toBe(200);

  const writing = writeEvents(databaseUrl, organizationId);
  for (const node of [0, 1]) {
    await pause(2_000);
    await receiver.kill();
    await pause(1_000);
    await receiver.start();
    await pause(2_000);
    nodes[node]?.signal("SIGKILL");
    await nodes[node]?.exited;
    nodes[node] = await started();
    await passLease(databaseUrl, receiver.accepted);
  }
  await writing;
  await using database = openClient(databaseUrl);
  // What failed at the end is tried again after a pause.
  await vi.waitFor(
    async () => {
      const accepted = new Set((await receiver.accepted()).map(([object, sequence]) => `${object} ${sequence}`));
      expect(accepted.size).toBe(objects * versions);
    },
    { timeout: 500_000, interval: 1_000 },
  );
  const accepted = await receiver.accepted();
  const [log] = await database.client<{ ids: string[] }[]>`
    select array_agg(n.number || '-' || (select b.id from event_batches b where b.first <= n.number order by b.first desc limit 1)) as ids
    from events e join event_numbers n on n.position = e.position where e.owner = ${organizationId} and e.type like 'project.%'`;
  expect(new Set(accepted.map(([, , id]) => id))).toEqual(new Set(log?.ids));

  const latest = new Map<string, number>();
  const skipped = accepted.filter(([object, sequence]) => {
    const before = latest.get(object) ?? 0;
    latest.set(object, Math.max(before, Number(sequence)));
    return Number(sequence) > before + 1;
  });
  expect(skipped).toEqual([]);
  console.log(`${accepted.length} posts were accepted for ${objects * versions} events`);
}, 900_000);
