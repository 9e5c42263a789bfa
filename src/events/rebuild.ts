import type { JsonValue } from "@bufbuild/protobuf";
import type { Sql } from "../postgres/connect.ts";
import { unique } from "../postgres/failure.ts";
import { type Fold, ofType } from "./fold.ts";
import { beginning, type Position } from "./follow.ts";
import { type Rewrite, rewriting } from "./rewrite.ts";

/** A view table that differs from the replay of the log. */
export type Difference = {
  readonly table: string;
  /** How many rows differ. */
  readonly rows: number;
  /** Sample rows of the replay that the table lacks. */
  readonly missing: readonly JsonValue[];
  /** Sample rows of the table that the replay lacks. */
  readonly extra: readonly JsonValue[];
};

/** Whether the tables equal the replay of the log. */
export type Rebuilt = { readonly equal: boolean; readonly differences: readonly Difference[] };

/** Replays the log into fresh tables and compares them with the real ones; the client has one connection at most. */
export async function rebuild(client: Sql, folds: ReadonlyMap<string, Fold>): Promise<Rebuilt> {
  await client.unsafe("begin isolation level repeatable read");
  try {
    await client.unsafe("set local statement_timeout = 0");
    const schema = await schemaOf(client);
    const { written, compared, expiries } = tablesOf(folds);
    const triggers = await triggersOf(client, { schema, tables: written });
    // A connection that is lost and reopened is outside the transaction: this table is missing then, and no fold can run.
    await client.unsafe("create temporary table rebuilding as select");
    // Temporary tables hide others of the same name, so the folds write only them.
    for (const table of [...written, ...followers])
      await client.unsafe(`create temporary table ${table} (like ${schema}.${table} including all)`);
    for (const trigger of triggers) await client.unsafe(trigger);
    await replay(client, folds, rewriting(client, written));
    const found = [];
    for (const table of [...compared, ...followers])
      found.push(await difference(client, schema, { table, column: expiries.get(table) }));
    const differences = found.filter(({ rows }) => rows > 0);
    return { equal: differences.length === 0, differences };
  } finally {
    await client.unsafe("rollback");
  }
}

const writing = /\b(?:insert\s+into|delete\s+from|update(?!\s+set\b))\s+(\w+)/g;

/** The tables that facts are folded into. Tables with credentials are not views, and are not compared. */
function tablesOf(folds: ReadonlyMap<string, Fold>) {
  const named = (texts: readonly string[]) =>
    texts.flatMap((text) => [...text.matchAll(writing)].map(([, table = ""]) => table));
  const all = [...folds.values()];
  const written = [...new Set(all.flatMap(({ views = [] }) => named(views)))].sort();
  const credentials = new Set(all.flatMap(({ credentials = [] }) => named(credentials)));
  const expiries = new Map(all.flatMap(({ expiry }) => (expiry ? [[expiry.table, expiry.column] as const] : [])));
  return { written, compared: written.filter((table) => !credentials.has(table)), expiries };
}

/** Tables that the triggers of others write. */
const followers = ["terms", "used_client_ids"];

/** The triggers of tables, as statements that make the same for the temporary tables of these names. */
async function triggersOf(client: Sql, { schema, tables }: { schema: string; tables: readonly string[] }) {
  const rows = await client<{ table: string; text: string }[]>`
    select c.relname as table, pg_get_triggerdef(t.oid) as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and c.relnamespace = ${schema}::regnamespace and c.relname = any(string_to_array(${tables.join()}, ','))
    order by t.tgname`;
  return rows.map(({ table, text }) => text.replace(/ ON \S+ /, ` ON pg_temp.${table} `));
}

async function schemaOf(client: Sql): Promise<string> {
  const [row] = await client<{ schema: string }[]>`select quote_ident(current_schema()) as schema`;
  return row?.schema ?? "public";
}

type Entry = Position & { readonly stream: string; readonly type: string };

const batchSize = 1000;

async function replay(client: Sql, folds: ReadonlyMap<string, Fold>, rewrite: Rewrite): Promise<void> {
  let late: Entry[] = [];
  let entries: readonly Entry[] = await entriesAfter(client, beginning);
  for (let [head] = entries; head; [head] = entries) {
    const batch = untilRepeated(entries, late);
    // A fact waits if an earlier fact about its object waits.
    const failed = batch.length > 0 ? await fold(client, folds, batch) : [head];
    late = await foldLate(client, folds, [...late, ...failed]);
    await rewrite(batch.length || 1);
    const rest = entries.slice(batch.length || 1);
    entries = rest.length > 0 ? rest : await entriesAfter(client, batch.at(-1) ?? head);
  }
}

/** Takes the first entries, up to one whose object is repeated or still waits. */
function untilRepeated(entries: readonly Entry[], late: readonly Entry[]): readonly Entry[] {
  const seen = new Set(late.map(({ stream }) => stream));
  const end = entries.findIndex(({ stream }) => seen.size === seen.add(stream).size);
  return end < 0 ? entries : entries.slice(0, end);
}

/** Folds entries of different objects together, or one by one where a name moves between them; returns those that must wait. */
async function fold(client: Sql, folds: ReadonlyMap<string, Fold>, entries: readonly Entry[]): Promise<Entry[]> {
  if (await folded(client, folds, entries)) return [];
  if (entries.length === 1) return [...entries];
  const half = entries.length >> 1;
  return [...(await fold(client, folds, entries.slice(0, half))), ...(await fold(client, folds, entries.slice(half)))];
}

// The event that takes a name may precede the one that frees it in the log, though it was committed later.
async function foldLate(client: Sql, folds: ReadonlyMap<string, Fold>, late: readonly Entry[]): Promise<Entry[]> {
  const still: Entry[] = [];
  for (const entry of late) {
    const waits = still.some(({ stream }) => stream === entry.stream);
    if (waits || !(await folded(client, folds, [entry]))) still.push(entry);
  }
  return still;
}

/** Folds consecutive entries; returns false, and changes nothing, if a unique key would be violated. */
async function folded(client: Sql, folds: ReadonlyMap<string, Fold>, entries: readonly Entry[]): Promise<boolean> {
  const text = textFor([...new Set(entries.map(({ type }) => type))], folds);
  const [from, to] = [entries.at(0), entries.at(-1)];
  if (!text || !from || !to) return true;
  await client.unsafe("savepoint batch");
  try {
    await client.unsafe(text, [...keyOf(from), ...keyOf(to)]);
    await client.unsafe("release savepoint batch");
    return true;
  } catch (error) {
    if (unique(error) === undefined) throw error;
    await client.unsafe("rollback to savepoint batch");
    return false;
  }
}

const keyOf = ({ epoch, xid, position }: Position) => [epoch, xid, position.toString()];

function textFor(types: readonly string[], folds: ReadonlyMap<string, Fold>): string | undefined {
  const ctes = types.flatMap((type) =>
    (folds.get(type)?.views ?? []).map((text, at) => `"${type}/${at}" as (${ofType(text, type)})`),
  );
  return ctes.length === 0 ? undefined : `with ${[stretch, ...ctes].join(",\n")}\nselect 1`;
}

const stretch = `facts as materialized (
  select owner, stream, version, type, payload, actor, request_id, time from events
  where (epoch, xid, position) >= ($1::integer, $2::text::xid8, $3::text::bigint)
    and (epoch, xid, position) <= ($4::integer, $5::text::xid8, $6::text::bigint)
    and exists (select from pg_temp.rebuilding)
)`;

const entriesAfter = (client: Sql, { epoch, xid, position }: Position) => client<Entry[]>`
  select epoch, xid::text as xid, position, owner || '/' || stream as stream, type from events
  where (events.epoch, events.xid, events.position) > (${epoch}::integer, ${xid}::text::xid8, ${position}::bigint)
  order by events.epoch, events.xid, events.position limit ${batchSize}`;

const examples = 3;

/** A table, and the column with the time after which its rows may be gone. */
type Compared = { readonly table: string; readonly column: string | undefined };

/** Compares a table with its replay; schema and names come from the folds and the catalogue, never from a caller. */
async function difference(client: Sql, schema: string, { table, column }: Compared): Promise<Difference> {
  const lasting = column === undefined ? "" : `where ${column} > now()`;
  const [row] = await client.unsafe<{ rows: number; missing: JsonValue[] | null; extra: JsonValue[] | null }[]>(`
    with missing as materialized (
      select * from pg_temp.${table} ${lasting} except select * from ${schema}.${table} ${lasting}),
         extra as materialized (
      select * from ${schema}.${table} ${lasting} except select * from pg_temp.${table} ${lasting})
    select ((select count(*) from missing) + (select count(*) from extra))::float8 as rows,
      (select jsonb_agg(to_jsonb(one)) from (select * from missing limit ${examples}) one) as missing,
      (select jsonb_agg(to_jsonb(one)) from (select * from extra limit ${examples}) one) as extra`);
  return { table, rows: row?.rows ?? 0, missing: row?.missing ?? [], extra: row?.extra ?? [] };
}
