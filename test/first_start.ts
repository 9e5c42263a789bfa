import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { compiled } from "./compiled.ts";
import { program } from "./program.ts";
import { freePort } from "./wire/free_port.ts";

/** A node as a process of its own, whose output is kept. */
export type Node = AsyncDisposable & {
  readonly url: string;
  readonly output: () => string;
  readonly signal: (name: NodeJS.Signals) => void;
  readonly exited: Promise<unknown>;
};

/** Options of a node. */
export type NodeOptions = {
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly port?: number;
  readonly adminToken?: string;
  /** More settings. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of another release, whose program is started. */
  readonly root?: string;
};

/** The environment of a node on a database of its own. */
export function nodeEnv({
  databaseUrl,
  dataDir,
  port = 0,
  adminToken = "",
  env = {},
}: NodeOptions): Record<string, string> {
  return {
    ...compiled,
    ...{ DATABASE_URL: databaseUrl, POSTERN_DATA_DIR: dataDir, PORT: String(port), LOG_FORMAT: "json" },
    POSTERN_ADMIN_TOKEN: adminToken,
    ...{ PATH: process.env.PATH ?? "", POSTERN_MASTER_KEY: Buffer.alloc(32, 1).toString("base64") },
    // A test holds the first statement up for as long as it needs.
    ...{ DATABASE_STATEMENT_TIMEOUT_MS: "60000", HASH_MEMORY_KIB: "64", HASH_ITERATIONS: "1" },
    ...env,
  };
}

/** Starts a node on a port that is known before it listens. */
export async function startNode(options: NodeOptions): Promise<Node> {
  const port = options.port ?? (await freePort());
  const env = nodeEnv({ ...options, port });
  const path = options.root === undefined ? program : join(options.root, "src/main.ts");
  const child = spawn(process.execPath, [path], { env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    signal: (name) => void child.kill(name),
    exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Asks again until the answer is there, within a generous time. */
export async function eventually<T>(ask: () => Promise<T | undefined> | T | undefined, what: string): Promise<T> {
  for (const end = Date.now() + 60_000; Date.now() < end; await pause(20)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
  throw new Error(`waited a minute for ${what}`);
}

/** The status of `/readyz`; undefined while nothing listens. */
export const readyStatus = (url: string): Promise<number | undefined> =>
  fetch(`${url}/readyz`).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status;
    },
    () => undefined,
  );

/** Keeps the first organization from being created, by a row of its name that is not committed, until it is let go. */
export async function holdOrganizations(databaseUrl: string) {
  const [sql, others] = [client(databaseUrl), client(databaseUrl)];
  await sql`begin`;
  await sql`
    insert into organizations (organization_id, name, version, created, changed)
    values ('held', 'First organization', 1, now(), now())`;
  const waiting = async () => {
    const rows = await others<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return rows.map(({ pid }) => pid);
  };
  return {
    /** The processes of the server that wait to create it. */
    waiting,
    async terminateWaiting() {
      for (const pid of await waiting()) await others`select pg_terminate_backend(${pid})`;
      await eventually(async () => (await waiting()).length === 0 || undefined, "the end of what waits");
    },
    async [Symbol.asyncDispose]() {
      await sql`rollback`;
      await sql.end();
      await others.end();
    },
  };
}

/** A client for one database, as a test needs it. */
export function client(databaseUrl: string) {
  const url = new URL(databaseUrl);
  const host = url.searchParams.get("host") ?? url.hostname;
  return postgres({ host, user: url.username, database: url.pathname.slice(1), max: 1, onnotice: () => {} });
}
