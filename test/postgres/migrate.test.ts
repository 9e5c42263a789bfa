import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { migrate } from "../../src/postgres/migrate.ts";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
import { ask, quiet } from "./embedded/holder.ts";

const one = { "0001-one.sql": "create table one (n int); -- trailing remark" };
const two = { "0002-two.sql": "create table two (n int);\ninsert into two select pg_sleep(0.02) is null, 1;" };
const good = { ...one, "0002-two.sql": "create table two (n int);\ninsert into two values (2)" };

test("applies what is missing in order, once", async () => {
  await using at = await scene(one);
  expect(await at.migrate()).toEqual(["0001-one"]);
  await at.write(good);
  expect(await at.migrate()).toEqual(["0002-two"]);
  expect(await at.migrate()).toEqual([]);
  expect(await ask(at.url, "select n from two")).toEqual([{ n: 2 }]);
  expect(await ask(at.url, "select name from migrations order by name")).toEqual([
    { name: "0001-one" },
    { name: "0002-two" },
  ]);
});

test("nodes that start together apply each file once", async () => {
  await using at = await scene(good);
  const applied = await Promise.all(Array.from({ length: 6 }, () => at.migrate()));
  expect(applied.flat().sort()).toEqual(["0001-one", "0002-two"]);
});

test("a file that fails leaves nothing of itself, and says which it was", async () => {
  await using at = await scene({ ...one, ...two });
  await expect(at.migrate()).rejects.toThrow(/^Migration 0002-two failed and changed nothing: /);
  expect(await ask(at.url, "select to_regclass('two') as two")).toEqual([{ two: null }]);
  await at.write(good);
  expect(await at.migrate()).toEqual(["0002-two"]);
});

test("refuses a file that was changed after it was applied", async () => {
  await using at = await scene(good);
  await at.migrate();
  await at.write({ "0001-one.sql": "create table one (m int)" });
  await expect(at.migrate()).rejects.toThrow("Migration 0001-one was changed after it was applied");
});

test("does not mind how lines end", async () => {
  await using at = await scene(good);
  await at.migrate();
  await at.write({ "0002-two.sql": good["0002-two.sql"].replaceAll("\n", "\r\n") });
  expect(await at.migrate()).toEqual([]);
});

test("refuses when the file of an applied one is missing", async () => {
  await using at = await scene(good);
  await at.migrate();
  await rm(join(at.folder, "0001-one.sql"));
  await expect(at.migrate()).rejects.toThrow("Migration 0001-one was applied to the database but its file is missing");
});

test("refuses a database that is newer than the program", async () => {
  await using at = await scene(good);
  await at.migrate();
  await rm(join(at.folder, "0002-two.sql"));
  await expect(at.migrate()).rejects.toThrow("The database is newer than this program: it has migration 0002-two");
});

test("refuses a new file that comes before an applied one", async () => {
  await using at = await scene(good);
  await at.migrate();
  await at.write({ "0001-late.sql": "select 1" });
  await expect(at.migrate()).rejects.toThrow("Migration 0001-late comes before 0002-two, which is already applied");
});

test("refuses a file without a number", async () => {
  await using at = await scene(good);
  await rename(join(at.folder, "0002-two.sql"), join(at.folder, "two.sql"));
  await expect(at.migrate()).rejects.toThrow("two.sql is not a valid name for a migration");
});

test("a role that may only read runs on a database that is up to date", async () => {
  await using at = await scene(good);
  await at.migrate();
  const reader = `reader_${at.folder.slice(-6).toLowerCase()}`;
  await ask(at.url, `create role ${reader} login; grant select on migrations to ${reader}`);
  const url = new URL(at.url);
  url.username = reader;
  expect(await migrate({ url: url.href, log: quiet, folder: at.folder })).toEqual([]);
  await ask(at.url, `drop owned by ${reader}; drop role ${reader}`);
});

test("a database that cannot be reached is one sentence without the password", async () => {
  const url = "postgresql://postern:hidden@127.0.0.1:1/postern";
  const failure = await migrate({ url, log: quiet }).catch((error: Error) => error.message);
  expect(failure).toMatch(/^The database cannot be used \(.*\): check DATABASE_URL/);
  expect(failure).not.toContain("hidden");
});

test("a migration that waits for a table gives way to others, and is applied once the table is free", async () => {
  await using at = await scene(one);
  await at.migrate();
  await at.write({ "0002-two.sql": "alter table one add column more int" });
  await using reader = openClient(at.url);
  await reader.client`begin`;
  await reader.client`select from one`;
  const migrated = at.migrate();
  await using watcher = openClient(at.url);
  const waiting = () => watcher.client`
    select from pg_locks where relation = 'one'::regclass and mode = 'AccessExclusiveLock' and not granted`;
  await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBe(1);
  // Without the bound this would wait for the end of the reader's transaction, which does not come.
  expect(await ask(at.url, "select count(*)::int as n from one")).toEqual([{ n: 0 }]);
  await reader.client`rollback`;
  expect(await migrated).toEqual(["0002-two"]);
}, 120_000);

test("the logger of the program, at the level debug, shows each migration of an empty database", async () => {
  await using at = await scene({ "0001-first.sql": "create table first ()" });
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  expect(await migrate({ url: at.url, log, folder: at.folder })).toEqual(["0001-first"]);
  expect(lines.join("")).toContain("migration applied");
});

test("our own migrations apply to an empty database", async () => {
  await using database = await freshDatabase({ empty: true });
  expect((await migrate({ url: database.url, log: quiet })).length).toBeGreaterThan(0);
});

async function scene(files: Readonly<Record<string, string>>) {
  const database = await freshDatabase({ empty: true });
  const folder = await mkdtemp(join(tmpdir(), "postern-migrations-"));
  const write = async (more: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(more)) await writeFile(join(folder, name), text);
  };
  await write(files);
  return {
    ...{ url: database.url, folder, write },
    migrate: () => migrate({ url: database.url, log: quiet, folder }),
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true });
      await database[Symbol.asyncDispose]();
    },
  };
}
