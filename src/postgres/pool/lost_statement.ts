import type postgres from "postgres";
import type { Client } from "./client.ts";

type Sql = postgres.ISql<{ bigint: bigint }>;

/** The interval between questions, and the pool for them. */
export type WatchLostOptions = Readonly<{ sql: Sql; everyMs: number }>;

/**
 * Destroys connections whose statement has no response, but is not running on the server: the network lost one or the other. Where
 * statements may run for minutes, silence alone proves nothing.
 */
export function watchLost(clients: Iterable<Client>, { sql, everyMs }: WatchLostOptions): Disposable {
  // A response can be on its way while the server is asked: a connection counts as lost if that is found twice for one statement.
  let suspected = new Map<Client, number>();
  let isAsking = false;

  async function look(): Promise<void> {
    const silent = [...clients].filter((client) => isSilent(client, everyMs));
    const suspects = new Map<Client, number>();
    const running = silent.length > 0 ? await runningOf(sql, silent.map(pidOf)) : new Set();
    for (const client of silent) {
      const { askedAt, socket } = client;
      if (askedAt === undefined || running.has(pidOf(client))) continue;
      if (suspected.get(client) === askedAt) socket?.destroy(lost());
      else suspects.set(client, askedAt);
    }
    suspected = suspects;
  }

  const tick = () => {
    if (isAsking) return;
    isAsking = true;
    // While the database cannot be asked, nothing is known.
    void look().then(done, done);
  };
  const done = () => {
    isAsking = false;
  };
  const timer = setInterval(tick, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const pidOf = ({ pid }: Client): number => pid ?? 0;

function isSilent({ askedAt, pid }: Client, everyMs: number): boolean {
  return pid !== undefined && askedAt !== undefined && performance.now() - askedAt > everyMs;
}

async function runningOf(sql: Sql, pids: readonly number[]): Promise<ReadonlySet<number>> {
  // A server that is reading has the text of the statement, and waits for the values or the end of the message.
  const rows = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where pid in (select jsonb_array_elements_text(${JSON.stringify(pids)}::text::jsonb)::int)
      and state in ('active', 'fastpath function call', 'disabled') and wait_event is distinct from 'ClientRead'`;
  return new Set(rows.map(({ pid }) => pid));
}

function lost(): Error {
  return Object.assign(new Error("the server no longer runs a statement that it did not answer"), {
    code: "CONNECTION_SILENT",
  });
}
