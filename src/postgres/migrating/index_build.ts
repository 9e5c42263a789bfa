import type { ProcessLog } from "../process_log.ts";
import type { Client } from "./migration_step.ts";

type Build = Readonly<{ index: string; migration: string; log: ProcessLog; everyMs: number }>;
type Phase = Readonly<{ phase: string; done: number; total: number; waitsFor: number | null }>;

/** Logs the progress of an index, or the process that its build waits for; the connection for that is opened only if it takes long. */
export function watchIndexBuild(open: () => Promise<Client>, { index, migration, log, everyMs }: Build): Disposable {
  let client: Promise<Client> | undefined;
  const timer = setInterval(() => void report().catch(() => {}), everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };

  async function report(): Promise<void> {
    client ??= open();
    const [row] = await (await client)<Phase[]>`
      select phase, blocks_done::float8 as done, blocks_total::float8 as total, nullif(current_locker_pid, 0) as "waitsFor"
      from pg_stat_progress_create_index where index_relid = to_regclass(${index})`;
    if (row) log.info({ migration, index, ...row }, "an index is being built");
  }
}
