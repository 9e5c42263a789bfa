import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { newToken } from "../../src/security/token.ts";
import { fastFolder } from "../fast_folder.ts";
import { nodeEnv, startNode } from "../first_start.ts";
import { holdTable } from "../fixture/held_row.ts";
import { ask, postmasterOf, quiet } from "../postgres/embedded/holder.ts";
import { type Fault, type Stage, untilReady } from "./rounds.ts";

const lastsMs = 1_500;
const settings = { DATABASE_STATEMENT_TIMEOUT_MS: "1000", SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0" };
const endConnections = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'service'";

/** A node that reaches its database by a role and a password, of which each can be taken away. */
export async function openRefusing(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const folder = await fastFolder("postern-refusing-");
  // Under root the server runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const dataDir = join(folder, "data");
  const server = opened.use(await startEmbedded({ dataDir, log: quiet }));
  const data = join(dataDir, "postgres/data");
  await writeFile(join(data, "pg_hba.conf"), "local all postern trust\nlocal all all scram-sha-256\n");
  const statements = [
    ["select pg_reload_conf()", "create role service login password 'first'"],
    ["create database service owner service"],
  ].flat();
  for (const statement of statements) await ask(server.url, statement);
  const [databaseUrl, serviceUrl] = [new URL(server.url), new URL(server.url)];
  databaseUrl.pathname = "/service";
  Object.assign(serviceUrl, { pathname: "/service", username: "service", password: "first" });
  const options = { databaseUrl: serviceUrl.href, dataDir: folder, adminToken: newToken("pt"), env: settings };
  // On a busy machine, a first start needs more time for a statement than calls have here.
  {
    await using first = await startNode({ ...options, env: {} });
    await untilReady(first);
  }
  const node = opened.use(await startNode(options));
  await untilReady(node);
  const stack = opened.move();
  return {
    url: node.url,
    databaseUrl: databaseUrl.href,
    token: options.adminToken,
    env: nodeEnv({ ...options, databaseUrl: databaseUrl.href }),
    faults: { ...stateFaults(server.url), ...lockFaults(databaseUrl.href), ...endFaults(data) },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** States of role and database that last until they are altered back. */
function stateFaults(url: string): Readonly<Record<string, Fault>> {
  const fault = (state: string, undone: string): Fault => ({
    async strike() {
      await ask(url, state);
      await ask(url, endConnections);
    },
    async heal() {
      await pause(lastsMs);
      await ask(url, undone);
    },
  });
  return {
    "a read-only database": fault(
      "alter database service set default_transaction_read_only = on",
      "alter database service reset default_transaction_read_only",
    ),
    "a role without connections": fault(
      "alter role service connection limit 0",
      "alter role service connection limit -1",
    ),
    "a role that cannot log in": fault("alter role service nologin", "alter role service login"),
    "another password": fault("alter role service password 'second'", "alter role service password 'first'"),
    "a database that takes no connections": fault(
      "alter database service allow_connections false",
      "alter database service allow_connections true",
    ),
  };
}

/** Locks that another program takes, and keeps for longer than a statement may wait. */
function lockFaults(url: string): Readonly<Record<string, Fault>> {
  const fault = (table: string): Fault => {
    let held: AsyncDisposable | undefined;
    return {
      async strike() {
        held = await holdTable(url, table);
      },
      async heal() {
        await pause(lastsMs);
        await held?.[Symbol.asyncDispose]();
      },
    };
  };
  return { "a lock of users": fault("users"), "a lock of the log": fault("events") };
}

/** Ends of the server, which is started again. */
function endFaults(data: string): Readonly<Record<string, Fault>> {
  const signal = (name: NodeJS.Signals): Fault => ({
    strike: async () => process.kill(await postmasterOf(data), name),
  });
  return { "a fast shutdown": signal("SIGINT"), "an immediate shutdown": signal("SIGQUIT") };
}
