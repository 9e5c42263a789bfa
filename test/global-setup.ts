import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { migrate } from "../src/postgres/migrate.ts";
import { startServer } from "../src/server/server.ts";
import { newDatabase, startCluster } from "./cluster.ts";
import { compile } from "./compiled.ts";
import { testConfig } from "./settings.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server of this test run, as its administrator. */
    databaseUrl: string;
    /** The secrets of the instance in `postern_begun`. */
    begun: Readonly<Record<"adminToken" | "adminPassword" | "masterKey", string>>;
  }
}

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

/** Starts one PostgreSQL for the whole run, with two databases to copy for each test file: a migrated one, and one with an instance. */
export default async function setup({ provide }: TestProject) {
  await compile();
  const cluster = await startCluster();
  provide("databaseUrl", cluster.url);
  await migrate({ url: await newDatabase(cluster, "postern_template"), log });
  provide("begun", await begin(await newDatabase(cluster, "postern_begun", "postern_template")));
  return () => cluster[Symbol.asyncDispose]();
}

/** Starts an instance for the first time; answers its secrets. */
async function begin(databaseUrl: string) {
  const dataDir = await mkdtemp(join(tmpdir(), "postern-data-"));
  const config = { ...testConfig(), databaseUrl, dataDir };
  await (await startServer(config))[Symbol.asyncDispose]();
  const adminPassword = await readFile(join(dataDir, "admin-password"), "utf8");
  await rm(dataDir, { recursive: true });
  const { adminToken = "", masterKeys: [key] = [] } = config;
  return { adminToken, adminPassword, masterKey: key?.toString("base64") ?? "" };
}
