import type { Sql } from "../../src/postgres/pool/connect.ts";
import { openClient } from "../fixture/database_client.ts";

/** Settings of a server that can log the plans of statements, and of those within them. */
export const logging = {
  ...{ "auto_explain.log_analyze": "on", "auto_explain.log_timing": "off", "auto_explain.log_format": "json" },
  ...{ "auto_explain.log_nested_statements": "on", logging_collector: "on", log_destination: "jsonlog" },
  ...{ log_rotation_age: "0", log_rotation_size: "0" },
};

/** Counts how often the statements of a database go down an index. */
export type Descents = AsyncDisposable & {
  /** The descents since the last time, by the ids of the statements. */
  readonly since: () => Promise<ReadonlyMap<string, number>>;
};

/** Has the server log every plan. */
export async function descentsIn(url: string): Promise<Descents> {
  const { client, [Symbol.asyncDispose]: close } = openClient(url);
  const indexes = await indexesOf(client);
  const [{ database = "", file = "" } = {}] = await client.unsafe<{ database: string; file: string }[]>(
    "select current_database() as database, pg_current_logfile('jsonlog') as file",
  );
  let offset = await sizeOf(client, file);
  let marks = 0;
  await client.unsafe("alter system set auto_explain.log_min_duration = 0");
  await client.unsafe("select pg_reload_conf()");
  return {
    async since() {
      // What the server logs reaches the file in order, some time later.
      const mark = `mark ${++marks} of ${database}`;
      await client.unsafe(`do $$ begin raise log '${mark}'; end $$`);
      let text = "";
      while (!text.includes(mark)) {
        const read = await readFrom(client, { file, offset });
        offset += Buffer.byteLength(read);
        text += read;
      }
      return summed(text, database, indexes);
    },
    async [Symbol.asyncDispose]() {
      await client.unsafe("alter system reset auto_explain.log_min_duration");
      await client.unsafe("select pg_reload_conf()");
      await close();
    },
  };
}

type Indexes = ReadonlyMap<string, number>;

/** The number of indexes of each table. */
async function indexesOf(client: Sql): Promise<Indexes> {
  const rows = await client.unsafe<{ table: string; count: number }[]>(
    `select relname as table, count(*)::integer as count from pg_index join pg_class on pg_class.oid = indrelid
     group by relname`,
  );
  return new Map(rows.map(({ table, count }) => [table, count]));
}

async function sizeOf(client: Sql, file: string): Promise<number> {
  const [row] = await client.unsafe<{ size: string }[]>("select size::text from pg_stat_file($1)", [file]);
  return Number(row?.size);
}

const atOnce = 64 * 1024 * 1024;

/** The whole lines from a place in a file. */
async function readFrom(client: Sql, { file, offset }: { readonly file: string; readonly offset: number }) {
  const [row] = await client.unsafe<{ bytes: Buffer }[]>(
    "select pg_read_binary_file($1, $2::bigint, $3::bigint) as bytes",
    [file, offset, atOnce],
  );
  const bytes = row?.bytes ?? Buffer.alloc(0);
  return String(bytes.subarray(0, bytes.lastIndexOf("\n") + 1));
}

type LogLine = { readonly query_id: string; readonly dbname?: string; readonly message: string };

function summed(text: string, database: string, indexes: Indexes): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split("\n").filter((one) => one.includes(" plan:"))) {
    // The ids are larger than the numbers of JSON.
    const whole = line.replace(/"query_id":(-?\d+)/, '"query_id":"$1"');
    const { query_id: id, dbname, message } = JSON.parse(whole) as LogLine;
    if (dbname !== database) continue;
    const { Plan } = JSON.parse(message.slice(message.indexOf("{"))) as { Plan: Node };
    found.set(id, (found.get(id) ?? 0) + descentsOf(Plan, indexes));
  }
  return found;
}

/** A node of a plan that ran, as EXPLAIN shows it. */
type Node = {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly Operation?: string;
  readonly "Conflict Resolution"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  /** Told by PostgreSQL 18; before it, several values of a key are one descent here. */
  readonly "Index Searches"?: number;
  readonly Plans?: readonly Node[];
};

/** How often a plan went down an index: to search, and to insert an entry. */
function descentsOf(node: Node, indexes: Indexes): number {
  const below = (node.Plans ?? []).reduce((sum, one) => sum + descentsOf(one, indexes), 0);
  return below + ownDescents(node, indexes);
}

function ownDescents(node: Node, indexes: Indexes): number {
  const { "Node Type": type, Operation: operation, Plans: plans = [] } = node;
  if (/^(Index|Index Only|Bitmap Index) Scan$/.test(type)) return node["Index Searches"] ?? node["Actual Loops"];
  if (type !== "ModifyTable" || (operation !== "Insert" && operation !== "Update")) return 0;
  const rows = plans.reduce((sum, one) => sum + one["Actual Rows"] * one["Actual Loops"], 0);
  const each = indexes.get(node["Relation Name"] ?? "") ?? 0;
  return rows * (each + (node["Conflict Resolution"] ? 1 : 0));
}
