import type { Sql } from "../../src/postgres/pool/connect.ts";
import { openClient } from "../fixture/database_client.ts";
import { type Descents, descentsIn, logging } from "./descents.ts";

/** Settings of a server that counts the blocks of each statement, those of its triggers among them, and can log plans. */
export const counting = {
  ...{ shared_preload_libraries: "pg_stat_statements,auto_explain", "pg_stat_statements.max": "10000" },
  ...logging,
};

/** A statement, and for each run of it the blocks that it read and milliseconds. */
export type Counted = { readonly text: string; readonly blocks: number; readonly ms: number };

/** The same, with how often it went down an index. */
export type Weight = Counted & { readonly descents: number };

/** Weighs a database's statements. */
export type Scales = AsyncDisposable & {
  /** Does some work; of its statements those count that have the words. */
  readonly heaviest: (work: () => Promise<unknown>, words?: string) => Promise<Counted>;
  /** Does some work, and weighs its statements, the heaviest first. */
  readonly weigh: <A>(work: () => Promise<A>) => Promise<{ readonly answer: A; readonly weights: readonly Weight[] }>;
};

/** Opens scales; the server must have been started with the settings above. */
export async function openScales(url: string): Promise<Scales> {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(openClient(url));
  await client.unsafe("create extension if not exists pg_stat_statements");
  let descents: Descents | undefined;
  const stack = opened.move();
  return {
    async heaviest(work, words = "") {
      await client.unsafe("select pg_stat_statements_reset()");
      await work();
      const found = (await counted(client)).find(({ text }) => text.includes(words));
      return found ?? { text: "", blocks: 0, ms: 0 };
    },
    async weigh(work) {
      // What came before was counted with the call before.
      descents ??= stack.use(await descentsIn(url));
      await client.unsafe("select pg_stat_statements_reset()");
      const answer = await work();
      const rows = await counted(client);
      const found = await descents.since();
      const weights = rows.map(({ id, calls, ...one }) => ({ ...one, descents: (found.get(id) ?? 0) / calls }));
      return { answer, weights };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const counted = (client: Sql) =>
  client.unsafe<(Counted & { readonly id: string; readonly calls: number })[]>(
    `select queryid::text as id, query as text, calls::integer, mean_exec_time as ms,
       ((shared_blks_hit + shared_blks_read) / calls)::integer as blocks
     from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
     order by blocks desc`,
  );
