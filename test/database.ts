import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { inject } from "vitest";
import type { Secrets } from "./settings.ts";

/** A database of the test's own, dropped when disposed. */
export type TestDatabase = AsyncDisposable & Readonly<{ url: string }>;

/** Makes a database: migrated by default, or empty, which may have another encoding. */
export async function freshDatabase({ empty = false, encoding = "UTF8" } = {}): Promise<TestDatabase> {
  // Of another encoding only template0 can be copied.
  if (encoding !== "UTF8") return copyOf(`template0 encoding '${encoding}' locale 'C'`);
  return copyOf(empty ? "template1" : "postern_template");
}

/** Makes a database with an instance that has been started before, and its secrets; those of a file are in the data folder. */
export async function begunDatabase(dataDir: string): Promise<TestDatabase & Secrets> {
  const { adminToken, adminPassword, masterKey } = inject("begun");
  await writeFile(join(dataDir, "admin-password"), adminPassword);
  return { ...(await copyOf("postern_begun")), adminToken, masterKeys: [Buffer.from(masterKey, "base64")] };
}

async function copyOf(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  // Files cost half as much as pages through the log.
  await asAdmin(`create database ${name} template ${template} strategy file_copy`);
  const url = new URL(inject("databaseUrl"));
  url.pathname = `/${name}`;
  return { url: url.href, [Symbol.asyncDispose]: () => asAdmin(`drop database ${name} with (force)`) };
}

// A connection for each statement: one that ends when nobody has used it for a while may do so at the moment of the next statement.
async function asAdmin(statement: string): Promise<void> {
  const url = new URL(inject("databaseUrl"));
  const host = url.searchParams.get("host") ?? url.hostname;
  const sql = postgres({ host, user: url.username, database: "postgres", max: 1, onnotice() {} });
  await sql.unsafe(statement).finally(() => sql.end());
}
