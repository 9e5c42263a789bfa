import type { TestProject } from "vitest/node";
import { migrate } from "../src/postgres/migrate.ts";
import { newDatabase, startCluster } from "./cluster.ts";
import { compile } from "./compiled.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server of this test run, as its administrator. */
    databaseUrl: string;
  }
}

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

/** Starts one PostgreSQL for the whole run, with a migrated database to copy for each test file. */
export default async function setup({ provide }: TestProject) {
  await compile();
  const cluster = await startCluster();
  await migrate({ url: await newDatabase(cluster, "postern_template"), log });
  provide("databaseUrl", cluster.url);
  return () => cluster[Symbol.asyncDispose]();
}
