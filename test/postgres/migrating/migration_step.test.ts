import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { migrate } from "../../../src/postgres/migrate.ts";
import { freshDatabase } from "../../database.ts";
import { openClient } from "../../fixture/database_client.ts";
import { quiet } from "../embedded/holder.ts";

const count = 700;
const rows = `
  create table things (part text, id text, n int not null default 0, primary key (part, id));
  insert into things select 'it''s \\' || n % 3, lpad(n::text, 5, '0') from generate_series(1, ${count}) n;`;

const steps = `-- What is done in steps.

-- step: transaction
alter table things add column more int;

-- step: batches of things by part, id
update things set n = n + 1, more = 1 where :batch

-- step: index
-- Found by what it has more.
create index concurrently if not exists things_more
  on things (more);

-- step: transaction
create table ended ();
`;

const files = { "0001-things.sql": rows, "0002-steps.sql": steps };

test("each step is applied once, each row of a batch too, however many nodes start together", async () => {
  await using at = await scene({ "0001-things.sql": rows });
  await at.migrate();
  await at.write(files);
  const applied = await Promise.all(Array.from({ length: 4 }, () => at.migrate()));
  expect(applied.flat()).toEqual(["0002-steps"]);
  await at.expectDone();
});

test("the log says which step was applied, and of how many", async () => {
  await using at = await scene({ "0001-things.sql": rows });
  await at.migrate();
  await at.write(files);
  const lines: object[] = [];
  const info = (fields: object) => void lines.push(fields);
  await migrate({ url: at.url, folder: at.folder, log: { ...quiet, info } });
  const told = (step: number) => ({ migration: "0002-steps", step: `${step} of 4` });
  expect(lines).toEqual([told(1), told(2), told(3), told(4), { migration: "0002-steps" }]);
});

// What holds a step up, and whether what the database does for it ends with the process.
const holds = [
  { step: "a transaction", from: 0, hold: "lock table things", ends: true },
  { step: "a batch", from: 1, hold: "select from things where id = '00400' for update", ends: true },
  { step: "an index whose build goes on", from: 2, hold: "lock table things in row exclusive mode", ends: false },
  { step: "an index whose build ends with it", from: 2, hold: "lock table things in row exclusive mode", ends: true },
] as const;

test.each(holds)(
  "a process that is killed in the middle of $step is followed by one that goes on there",
  async (one) => {
    await using at = await scene({ "0001-things.sql": rows });
    await at.migrate();
    await at.write(files);
    await at.migrateTo(one.from);
    await using holder = openClient(at.url);
    await holder.client.unsafe(`begin; ${one.hold}`);
    const child = spawn(process.execPath, ["--input-type=module", "-e", at.program], { stdio: "ignore" });
    const ended = once(child, "exit");
    await using watcher = openClient(at.url);
    const waiting = () => watcher.client<{ pid: number }[]>`
    select pid from pg_stat_activity where application_name = 'postern-migrate' and datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBe(1);
    child.kill("SIGKILL");
    await ended;
    if (one.ends)
      await watcher.client`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'postern-migrate' and datname = current_database()`;
    const next = at.migrate();
    await holder.client.unsafe("rollback");
    expect(await next).toEqual(["0002-steps"]);
    await at.expectDone();
  },
);

test("a batch reads its rows, however many share the first column of the key, and whatever other index begins with it", async () => {
  const many = 50_000;
  await using at = await scene({
    "0001-things.sql": `${rows}
      insert into things select 'part ' || n % 5, md5(n::text), n from generate_series(1, ${many}) n;
      create index things_by_number on things (part, n);
      analyze things;`,
  });
  await at.migrate();
  await using sql = openClient(at.url);
  const counted = async () => {
    const [row] = await sql.client<{ scans: number; updated: number; entries: number }[]>`
      select seq_scan::int as scans, n_tup_upd::int as updated,
        (select sum(idx_tup_read)::int from pg_stat_user_indexes i where i.relid = t.relid) as entries
      from pg_stat_user_tables t where relid = 'things'::regclass`;
    return row ?? expect.unreachable();
  };
  const before = await counted();
  await at.write({
    "0002-steps.sql": "-- step: batches of things by part, id\nupdate things set n = n + 1 where :batch\n",
  });
  expect(await at.migrate()).toEqual(["0002-steps"]);
  // Connections tell what they read when they end.
  await expect.poll(async () => (await counted()).updated - before.updated, { timeout: 60_000 }).toBe(count + many);
  const after = await counted();
  expect(after.scans).toBe(before.scans);
  // Once for the keys of the batch, and once for its rows.
  expect((after.entries - before.entries) / (count + many)).toBeLessThan(3);
});

test("a file that replaces another counts as applied where the other was", async () => {
  await using at = await scene({ "0001-things.sql": rows });
  await at.migrate();
  const replaces = (text: string) => `-- replaces sha256 ${createHash("sha256").update(text).digest("hex")}\n`;
  await at.write({ "0001-things.sql": `${replaces(rows)}\n-- step: transaction\nselect 1 / 0;\n` });
  expect(await at.migrate()).toEqual([]);
  await at.write({ "0001-things.sql": `${replaces(steps)}\n-- step: transaction\nselect 1;\n` });
  await expect(at.migrate()).rejects.toThrow("Migration 0001-things was changed after it was applied");
});

test("a step that fails keeps those before it, and goes on once it can", async () => {
  await using at = await scene({ "0001-things.sql": rows });
  await at.migrate();
  await at.write({
    "0002-steps.sql": steps.replace("create index concurrently", "create unique index concurrently"),
  });
  const failure = /^Migration 0002-steps failed in step 3 of 4, after which it goes on once that works: .*things_more/;
  await expect(at.migrate()).rejects.toThrow(failure);
  await expect(at.migrate()).rejects.toThrow(failure);
  await at.write(files);
  await expect(at.migrate()).rejects.toThrow("Migration 0002-steps was changed while it was being applied");
  await at.write({
    "0002-steps.sql": steps.replace("create index concurrently", "create unique index concurrently"),
  });
  await using sql = openClient(at.url);
  await sql.client`update things set more = t.at from (select id, row_number() over () as at from things) t where t.id = things.id`;
  expect(await at.migrate()).toEqual(["0002-steps"]);
});

test.each([
  ["-- step: backwards\nselect 1", "a step of an unknown kind: backwards"],
  ["select 1;\n-- step: transaction\nselect 1", "a statement before its first step"],
  ["-- step: index\ncreate index things_n on things (n)", "must create one index concurrently"],
  ["-- step: batches of things by id\nupdate things set n = 1", "whose statement lacks :batch"],
])("refuses a file that cannot be applied in steps: %j", async (text, message) => {
  await using at = await scene({ "0001-things.sql": text });
  await expect(at.migrate()).rejects.toThrow(message);
});

async function scene(first: Readonly<Record<string, string>>) {
  const database = await freshDatabase({ empty: true });
  const folder = await mkdtemp(join(tmpdir(), "postern-migrations-"));
  const write = async (more: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(more)) await writeFile(join(folder, name), text);
  };
  await write(first);
  const { url } = database;
  const module = new URL("../../../src/postgres/migrate.ts", import.meta.url).href;
  const given = JSON.stringify({ url, folder });
  return {
    ...{ url, folder, write },
    migrate: () => migrate({ url, log: quiet, folder }),
    /** Applies so many steps, as a process that was killed after them left them. */
    async migrateTo(step: number) {
      if (step === 0) return;
      await using sql = openClient(url);
      const log = { ...quiet, info: stopAfter(step) };
      await expect(migrate({ url, folder, log })).rejects.toThrow("stopped");
      expect(await sql.client`select step from migration_under_way`).toEqual([{ step }]);
    },
    program: `import { migrate } from ${JSON.stringify(module)};
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      await migrate({ ...${given}, log });`,
    async expectDone() {
      await using sql = openClient(url);
      const [found] = await sql.client`
        select (select count(*)::int from things where n = 1 and more = 1) as done, to_regclass('ended') is not null as ended,
          (select indisvalid from pg_index where indexrelid = 'things_more'::regclass) as valid,
          (select count(*)::int from migration_under_way) as "underWay"`;
      expect(found).toEqual({ done: count, ended: true, valid: true, underWay: 0 });
    },
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true });
      await database[Symbol.asyncDispose]();
    },
  };
}

function stopAfter(step: number) {
  return (fields: object) => {
    if ("step" in fields && fields.step === `${step} of 4`) throw new Error("stopped");
  };
}
