// A worker that kills itself without a chance to clean up, before or after one of its steps.

import { webhookSender } from "../../../src/notify/sms/webhook_sender.ts";
import { startSmsWorker } from "../../../src/notify/sms/worker.ts";
import { connect } from "../../../src/postgres/pool/connect.ts";
import { keyring } from "../../../src/security/seal.ts";
import { whenAwaited } from "./when_awaited.ts";

const [moment = "", databaseUrl = "", key = "", url = ""] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const { sql } = connect(databaseUrl, { connections: 4, waitMs: 60_000, statementTimeoutMs: 60_000, log });
const send = webhookSender({ url, secret: Buffer.alloc(32) }, () => new Date());

const die = (now: string) => void (now === moment && process.kill(process.pid, "SIGKILL"));

const deadly = whenAwaited(sql, async (text, ask) => {
  const step = text.includes("with recursive") ? "take" : "settle";
  die(`before ${step}`);
  const rows = await ask();
  die(`after ${step}`);
  return rows;
});

startSmsWorker({
  sql: deadly,
  onWritten: () => () => {},
  keyring: keyring([Buffer.from(key, "hex")]),
  sender: async (sms, signal) => {
    die("before send");
    await send(sms, signal);
    die("after send");
  },
  clock: () => new Date(),
  text: "{code}",
  attempts: 10,
  timeoutMs: 60_000,
  everyMs: 20,
  onDelivery: () => die("at the end"),
  onError: console.error,
});
