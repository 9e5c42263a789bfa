import { openClient } from "../fixture/database_client.ts";

/** Settings of a server that counts the blocks of each statement, those of its triggers among them. */
export const counting = { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.max": "10000" };

/** The heaviest statement of some work: its text, and the blocks that each run of it read. */
export type Heaviest = { readonly text: string; readonly blocks: number };

/** Counts the blocks of a database's statements. */
export type BlockCounter = AsyncDisposable & {
  /** Does some work; of its statements those count that have the words. */
  readonly heaviest: (work: () => Promise<unknown>, words?: string) => Promise<Heaviest>;
};

/** Opens a counter; the server must have been started with the settings above. */
export async function countBlocks(url: string): Promise<BlockCounter> {
  const { client, [Symbol.asyncDispose]: close } = openClient(url);
  await client.unsafe("create extension if not exists pg_stat_statements");
  return {
    async heaviest(work, words = "") {
      await client.unsafe("select pg_stat_statements_reset()");
      await work();
      const [row] = await client.unsafe<Heaviest[]>(
        `select query as text, ((shared_blks_hit + shared_blks_read) / calls)::integer as blocks from pg_stat_statements
         where dbid = (select oid from pg_database where datname = current_database()) and strpos(query, $1) > 0
         order by 2 desc limit 1`,
        [words],
      );
      return row ?? { text: "", blocks: 0 };
    },
    [Symbol.asyncDispose]: close,
  };
}
