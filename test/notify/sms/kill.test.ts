import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { smsHealth } from "../../../src/notify/sms/outbox.ts";
import { webhookSender } from "../../../src/notify/sms/webhook_sender.ts";
import { compiled } from "../../compiled.ts";
import { idsOf, startProvider } from "../provider.ts";
import { type Outbox, openOutbox, startWorker } from "./outbox.ts";

const program = fileURLToPath(new URL("./killed_worker.ts", import.meta.url));

function runUntilKilled(...args: string[]): Promise<NodeJS.Signals | null> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...compiled };
    const child = execFile(process.execPath, [program, ...args], { env, timeout: 120_000, killSignal: "SIGTERM" });
    child.on("exit", (_code, signal) => resolve(signal));
  });
}

/** The server's processes for connections to the database of an outbox. */
async function processesOf({ sql }: Outbox): Promise<readonly number[]> {
  const rows = await sql<{ pid: number }[]>`select pid from pg_stat_activity where datname = current_database()`;
  return rows.map(({ pid }) => pid);
}

for (const { moment, sent } of [
  { moment: "before take", sent: 1 },
  { moment: "after take", sent: 1 },
  { moment: "before send", sent: 1 },
  { moment: "after send", sent: 2 },
  { moment: "before settle", sent: 2 },
  { moment: "after settle", sent: 1 },
  { moment: "at the end", sent: 1 },
])
  test(`an SMS arrives though the worker was killed ${moment}`, async () => {
    await using outbox = await openOutbox();
    await using provider = await startProvider();
    const { id } = await outbox.ask();
    const own = await processesOf(outbox);

    expect(await runUntilKilled(moment, outbox.url, outbox.key.toString("hex"), provider.url)).toBe("SIGKILL");
    // What the worker asked at last may still run: it would take the message once more.
    await expect.poll(async () => (await processesOf(outbox)).filter((pid) => !own.includes(pid))).toEqual([]);
    await outbox.makeDue();
    const sender = webhookSender({ url: provider.url, secret: Buffer.alloc(32) }, () => new Date());
    await using worker = startWorker(outbox, { sender });
    await vi.waitFor(() => expect(provider.received.length).toBe(sent), 60_000);
    await vi.waitFor(async () => expect(await smsHealth(outbox.sql)).toMatchObject({ waiting: 0, dead: 0 }), 60_000);

    expect(new Set(idsOf(provider.received))).toEqual(new Set([id]));
    expect(worker.deliveries.filter(({ kind }) => kind === "dead")).toEqual([]);
    expect(await outbox.sql`select sealed from phone_codes`).toEqual([{ sealed: null }]);
  });
