import { setTimeout as pause } from "node:timers/promises";
import type { JsonValue } from "@bufbuild/protobuf";
import { isLockLost } from "../postgres/failure.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { crossNounTypes } from "./cross_noun.ts";
import type { Fold } from "./fold.ts";
import { endOfLog } from "./follow.ts";
import { giveLeaseBack, takeLease } from "./lease.ts";
import { numberAll } from "./numbering.ts";
import { basesOf, design, hasReplay, makeTables, type Schemas, schemasOf } from "./rebuild_tables.ts";
import { goesOn, openReplay, type Replay, type Replayed } from "./replay.ts";

/** A view table that differs from a replay of the log. */
export type Difference = {
  readonly table: string;
  /** The number of rows that differ. */
  readonly rows: number;
  /** Sample rows of the replay that are missing from the table. */
  readonly missing: readonly JsonValue[];
  /** Sample rows of the table that are missing from the replay. */
  readonly extra: readonly JsonValue[];
};

/** Whether the tables equal a replay of the log. */
export type Rebuilt = { readonly equal: boolean; readonly differences: readonly Difference[] };

/**
 * Replays the log into tables of its own and compares them with the real ones. Each step is a short transaction that records its progress,
 * so a replay that was stopped continues from there. The last step compares all tables at one moment. The client must have at most one
 * connection.
 */
export async function rebuild(
  client: Sql,
  folds: ReadonlyMap<string, Fold>,
  tell: (replayed: Replayed) => void = () => {},
): Promise<Rebuilt> {
  const schemas = await schemasOf(client);
  const { written, compared, expiries, unknown } = tablesOf(folds);
  const bases = await basesOf(client, [...written, ...followers]);
  await using keeping = await keepEvents(client);
  const blueprint = await design(client, folds, { ...schemas, bases, deleted: await deletedEvents(client) });
  const replay = openReplay(client, crossNounTypes(folds));
  await within(client, { schemas }, async () => {
    if ((await hasReplay(client, schemas.replayed)) && (await goesOn(client, blueprint.fingerprint))) return;
    await makeTables(client, schemas.replayed, blueprint);
    await replay.begin(blueprint.fingerprint);
  });
  await catchUp(client, { schemas, replay, tell: (replayed) => keeping.goOn().then(() => tell(replayed)) });
  const differences = await within(client, { schemas, isolation: "repeatable read" }, async () => {
    await replay.finish();
    const found = [];
    for (const table of [...compared, ...followers]) {
      const { base, columns: all } = bases.get(table) ?? { base: table, columns: ["*"] };
      const columns = all.filter((column) => !unknown.has(`${table}.${column}`));
      const hides = base !== table;
      found.push(await difference(client, schemas, { table, columns, column: expiries.get(table), hides }));
    }
    return found.filter(({ rows }) => rows > 0);
  });
  await client.unsafe(`drop schema ${schemas.replayed} cascade`);
  return { equal: differences.length === 0, differences };
}

// A replay that was killed delays the deletion of events for this long.
const keptSeconds = 600;
const lease = { work: "replay", holder: "doctor" };

/** Keeps all events until disposed: if an object's last event were deleted, a replay would keep what it has read of it. */
async function keepEvents(client: Sql) {
  let renewed = Number.NEGATIVE_INFINITY;
  await goOn();
  return {
    goOn,
    [Symbol.asyncDispose]: () => giveLeaseBack(client, lease).catch(() => {}),
  };

  async function goOn(): Promise<void> {
    if (performance.now() < renewed + 60_000) return;
    await takeLease(client, { ...lease, seconds: keptSeconds });
    renewed = performance.now();
  }
}

/** The number of events deleted so far. Waits for any deletion that does not know of the replay. */
async function deletedEvents(client: Sql): Promise<string> {
  const rows = await client<{ deleted: string }[]>`
    select deleted::text as deleted from retention_progress order by kind for update`;
  return rows.map(({ deleted }) => deleted).join();
}

type CatchUp = {
  readonly schemas: Schemas;
  readonly replay: Replay;
  readonly tell: (replayed: Replayed) => Promise<void>;
};

/** Replays stretches of the log until only a few events are left, because others keep writing meanwhile. */
async function catchUp(client: Sql, { schemas, replay, tell }: CatchUp): Promise<void> {
  await numberInTurn(client);
  let { number: of } = await endOfLog(client);
  for (let isMore = true; isMore; ) {
    const at = await within(client, { schemas }, replay.step);
    if (at >= of) of = (await endOfLog(client)).number;
    await tell({ at, of });
    isMore = of - at > few;
  }
  await numberInTurn(client);
}

const few = 1_000n;

/** Numbers all events; waits up to a minute for a node that is numbering many of them. */
async function numberInTurn(client: Sql): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await numberAll(client);
    } catch (error) {
      if (!isLockLost(error) || tries === 60) throw error;
      await pause(1_000);
    }
  }
}

type Within = { readonly schemas: Schemas; readonly isolation?: "repeatable read" };

/** Runs work in a transaction in which the tables of the replay hide those of the service. */
async function within<T>(client: Sql, { schemas, isolation }: Within, work: () => Promise<T>): Promise<T> {
  await client.unsafe(`begin isolation level ${isolation ?? "read committed"}`);
  try {
    const path = `${schemas.replayed}, ${schemas.schema}`;
    for (const [name, value] of Object.entries({ ...settings, search_path: path }))
      await client.unsafe(`set local ${name} = ${value}`);
    const result = await work();
    await client.unsafe("commit");
    return result;
  } catch (error) {
    // The error says more than that of a rollback on a lost connection.
    await client.unsafe("rollback").catch(() => {});
    throw error;
  }
}

// Plans are made while the tables are empty, and kept, so they have to suit large ones.
const settings = {
  statement_timeout: "0",
  lock_timeout: "'10s'",
  // The statement ends soon after the process that sent it has stopped.
  client_connection_check_interval: "'1s'",
  // After a crash, the tables of the replay are empty anyway.
  synchronous_commit: "off",
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  jit: "off",
};

const writing = /\b(?:insert\s+into|delete\s+from|update(?!\s+set\b))\s+(\w+)/g;

/** The tables that facts are folded into. Tables of credentials are not view tables, and are not compared. */
function tablesOf(folds: ReadonlyMap<string, Fold>) {
  const named = (texts: readonly string[]) =>
    texts.flatMap((text) => [...text.matchAll(writing)].map(([, table = ""]) => table.replace(/^all_/, "")));
  const all = [...folds.values()];
  const written = [...new Set(all.flatMap(({ views = [] }) => named(views)))].sort();
  const credentials = new Set(all.flatMap(({ credentials = [] }) => named(credentials)));
  const expiries = new Map(all.flatMap(({ expiry }) => (expiry ? [[expiry.table, expiry.column] as const] : [])));
  const unknown = new Set(all.flatMap(({ unknownBefore: one }) => (one ? [`${one.table}.${one.column}`] : [])));
  return { written, compared: written.filter((table) => !credentials.has(table)), expiries, unknown };
}

/** Tables written by other tables' triggers. */
const followers = ["terms", "used_client_ids"];

const examples = 3;

/** A table with its columns, and the column with the time after which its rows may be deleted. */
type Compared = {
  readonly table: string;
  readonly columns: readonly string[];
  readonly column: string | undefined;
  /** Whether the name shows only the rows that are not deleted; the replay has those of users who are waiting for erasure. */
  readonly hides: boolean;
};

/** Compares a table with its replay. Schemas and names come from the folds and the catalogue, never from a caller. */
async function difference(
  client: Sql,
  { schema, replayed }: Schemas,
  { table, columns: names, column, hides }: Compared,
): Promise<Difference> {
  const columns = names.join(", ");
  const lasting = column === undefined ? "" : `where ${column} > now()`;
  const rows = hides ? `(select * from ${replayed}.${table} where not deleted) there` : `${replayed}.${table}`;
  const [row] = await client.unsafe<{ rows: number; missing: JsonValue[] | null; extra: JsonValue[] | null }[]>(`
    with missing as materialized (
      select ${columns} from ${rows} ${lasting} except select ${columns} from ${schema}.${table} ${lasting}),
         extra as materialized (
      select ${columns} from ${schema}.${table} ${lasting} except select ${columns} from ${rows} ${lasting})
    select ((select count(*) from missing) + (select count(*) from extra))::float8 as rows,
      (select jsonb_agg(to_jsonb(one)) from (select * from missing limit ${examples}) one) as missing,
      (select jsonb_agg(to_jsonb(one)) from (select * from extra limit ${examples}) one) as extra`);
  return { table, rows: row?.rows ?? 0, missing: row?.missing ?? [], extra: row?.extra ?? [] };
}
