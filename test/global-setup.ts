import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { clientOptions, driverUrl } from "../src/postgres/connect.ts";
import { startEmbedded } from "../src/postgres/embedded.ts";
import { migrate } from "../src/postgres/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server of this test run, as its administrator. */
    databaseUrl: string;
  }
}

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const fast = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: "300" };

/** Starts one PostgreSQL for the whole run, with a migrated database to copy for each test file. */
export default async function setup({ provide }: TestProject) {
  const folder = await mkdtemp(join(tmpdir(), "postern-test-"));
  // Under root the server runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  const embedded = await startEmbedded({ dataDir: join(folder, "data"), log, settings: fast });
  await makeTemplate(embedded.url);
  provide("databaseUrl", embedded.url);
  return async () => {
    await embedded[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  };
}

async function makeTemplate(url: string): Promise<void> {
  const admin = postgres(driverUrl(url), { ...clientOptions(url, log), max: 1 });
  await admin`create database postern_template`;
  await admin.end();
  const template = new URL(url);
  template.pathname = "/postern_template";
  await migrate({ url: template.href, log });
}
