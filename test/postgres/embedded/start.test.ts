import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { expect, inject, test } from "vitest";
import { StartError } from "../../../src/postgres/failure.ts";
import { checkDatabase } from "../../../src/postgres/start_error.ts";
import { compiled } from "../../compiled.ts";
import { freshDatabase } from "../../database.ts";
import { fastFolder } from "../../fast_folder.ts";
import { program } from "../../program.ts";
import { openProxy } from "../proxy.ts";
import { ask } from "./holder.ts";

/** Starts the service, which has to end by itself; answers its code and its words. */
async function failedStart(settings: Readonly<Record<string, string>>) {
  const dataDir = await fastFolder("postern-start-");
  const key = randomBytes(32).toString("base64");
  const env = {
    ...compiled,
    POSTERN_DATA_DIR: dataDir,
    POSTERN_MASTER_KEY: key,
    PORT: "0",
    LOG_LEVEL: "silent",
    ...settings,
  };
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "ignore", "pipe"] });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    words += text;
  });
  const [code] = await once(child, "close");
  await rm(dataDir, { recursive: true });
  return { code, words };
}

async function withRole(): Promise<AsyncDisposable & { name: string }> {
  const name = `role_${randomBytes(6).toString("hex")}`;
  await ask(inject("databaseUrl"), `create role ${name} login`);
  return { name, [Symbol.asyncDispose]: () => ask(inject("databaseUrl"), `drop role ${name}`).then(() => {}) };
}

const asRole = (url: string, name: string) => Object.assign(new URL(url), { username: name }).href;

test("a role that may not make tables is told so in one sentence", async () => {
  await using role = await withRole();
  await using at = await freshDatabase({ empty: true });
  expect(await failedStart({ DATABASE_URL: asRole(at.url, role.name) })).toEqual({
    code: 1,
    words: expect.stringMatching(
      /^postern: The database role lacks a permission \(permission denied for schema public\): .*\n$/,
    ),
  });
});

test("a role without rights on the tables is told so in one sentence", async () => {
  await using role = await withRole();
  await using at = await freshDatabase();
  const env = { DATABASE_URL: asRole(at.url, role.name), MIGRATION_DATABASE_URL: at.url };
  expect(await failedStart(env)).toEqual({
    code: 1,
    words: expect.stringMatching(
      /^postern: The database role lacks a permission \(permission denied for table instance\): .*\n$/,
    ),
  });
});

test.each([true, false])("a database that takes no writes is one sentence; empty: %s", async (empty) => {
  await using at = await freshDatabase({ empty });
  const name = new URL(at.url).pathname.slice(1);
  await ask(inject("databaseUrl"), `alter database ${name} set default_transaction_read_only = on`);
  for (const url of [at.url, `${at.url}&target_session_attrs=read-write`])
    expect(await failedStart({ DATABASE_URL: url })).toEqual({
      code: 1,
      words: expect.stringMatching(
        /^postern: The database accepts no writes \(.*\): .*target_session_attrs=read-write\n$/,
      ),
    });
});

test.each([
  ["resets", { swallow: false }],
  ["says nothing", { swallow: true }],
])("a server that accepts and %s ends the start with one sentence", async (_, { swallow }) => {
  await using proxy = await openProxy(inject("databaseUrl"));
  proxy.fail(swallow ? { swallow } : { resetAt: () => true });
  expect(await failedStart({ DATABASE_URL: proxy.url })).toEqual({
    code: 1,
    words: expect.stringMatching(/^postern: The database cannot be used \(.*\): check DATABASE_URL.*\n$/),
  });
});

test("a database that is not UTF-8 is refused before anything is made in it", async () => {
  await using at = await freshDatabase({ empty: true, encoding: "SQL_ASCII" });
  expect(await failedStart({ DATABASE_URL: at.url })).toEqual({
    code: 1,
    words:
      "postern: The database has the encoding SQL_ASCII, but UTF8 is needed: create a database with `create database … template template0 encoding 'UTF8'`\n",
  });
  expect(await ask(at.url, "select count(*)::int as tables from pg_tables where schemaname = 'public'")).toEqual([
    { tables: 0 },
  ]);
});

test("a PostgreSQL that is too old is refused by a sentence that names its version", () => {
  const refusal = (version: number) => {
    try {
      checkDatabase({ version, encoding: "UTF8" });
    } catch (error) {
      return error instanceof StartError ? error.message : error;
    }
  };
  expect([150_000, 150_018, 180_004].map(refusal)).toEqual(Array(3).fill(undefined));
  expect(refusal(140_023)).toBe("The database is PostgreSQL 14.23, which is too old: 15 or newer is needed");
  expect(refusal(90_624)).toBe("The database is PostgreSQL 9.6.24, which is too old: 15 or newer is needed");
});
