import { availableParallelism } from "node:os";
import type { Sql } from "../src/postgres/pool/connect.ts";
import { openClient } from "../test/fixture/database_client.ts";

import { append, type Size } from "../test/fixture/seed.ts";

/** Settings of a database server that only loads: lost data is loaded again. */
export const loading = {
  ...{ fsync: "off", full_page_writes: "off", wal_level: "minimal", max_wal_senders: "0", max_wal_size: "16GB" },
  ...{ shared_buffers: "1GB", autovacuum: "off", checkpoint_timeout: "1h" },
};

/** Loads a new database without indexes and foreign keys, and makes them again afterwards. */
export async function bulk(url: string, owner: string, size: Size): Promise<void> {
  await bare(url, (sqls) => append(sqls, owner, size));
}

/** Does work that fills a database while it has neither foreign keys nor indexes that are not unique, on a connection for each core. */
export async function bare(url: string, fill: (sqls: readonly [Sql, ...Sql[]]) => Promise<unknown>): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const connect = () => opened.use(openClient(url)).client;
  const sql = connect();
  const sqls = [sql, ...Array.from({ length: availableParallelism() - 1 }, connect)] as const;
  for (const one of sqls) await one.unsafe("set maintenance_work_mem = '512MB'");
  const { drop, indexes, constraints } = await besides(sql);
  for (const text of drop) await sql.unsafe(text);
  await fill(sqls);
  for (const texts of [indexes, constraints]) await spread(sqls, texts);
  await sql.unsafe("vacuum analyze");
  await sql.unsafe("checkpoint");
}

/** The definitions of foreign keys and of indexes that are not unique, and the statements that drop them. */
async function besides(sql: Sql) {
  const indexes = await sql.unsafe<{ name: string; text: string }[]>(`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as text
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = current_schema()::regnamespace
      and not i.indisunique and not exists (select from pg_constraint k where k.conindid = i.indexrelid)`);
  const constraints = await sql.unsafe<{ name: string; from: string; text: string }[]>(`
    select quote_ident(conname) as name, conrelid::regclass::text as from, pg_get_constraintdef(oid) as text
    from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`);
  return {
    drop: [
      ...indexes.map(({ name }) => `drop index ${name}`),
      ...constraints.map(({ name, from }) => `alter table ${from} drop constraint ${name}`),
    ],
    indexes: indexes.map(({ text }) => text),
    constraints: constraints.map(({ name, from, text }) => `alter table ${from} add constraint ${name} ${text}`),
  };
}

async function spread(sqls: readonly Sql[], texts: readonly string[]): Promise<void> {
  const left = [...texts];
  const one = async (sql: Sql) => {
    for (let text = left.shift(); text; text = left.shift()) await sql.unsafe(text);
  };
  await Promise.all(sqls.map(one));
}
