import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { newToken } from "../../src/security/token.ts";
import { openClient } from "../../test/fixture/database_client.ts";
import { seed } from "../../test/fixture/seed.ts";
import { type Built, build } from "../built.ts";
import { type DatabaseServer, unreached } from "../server.ts";
import type { PosternCalls } from "./postern_calls.ts";
import { freePort, startProgram } from "./program.ts";
import { held, type Question, users } from "./question.ts";
import type { Door, System } from "./system.ts";

const module = new URL("./postern_calls.ts", import.meta.url).href;
const projects = 600;

/** The questions that Postern answers. */
export const posternCan: readonly Question[] = [
  "grant",
  "list",
  "check",
  "batch",
  "me",
  "user",
  "application",
  "password",
];

// The cost of Keycloak's own hashes.
const hashing = { HASH_MEMORY_KIB: "7168", HASH_ITERATIONS: "5" };

/** Starts Postern with a pool of so many connections. */
export async function startPostern(databases: DatabaseServer, pool: number): Promise<System> {
  const databaseUrl = await databases.database("peers_postern");
  const token = newToken("pt");
  const env = {
    ...{ DATABASE_URL: databaseUrl, DATABASE_CONNECTIONS: String(pool), LOG_LEVEL: "warn", ...unreached, ...hashing },
    ...{ POSTERN_ADMIN_TOKEN: token, POSTERN_MASTER_KEY: randomBytes(32).toString("base64") },
    POSTERN_DATA_DIR: join(databases.folder, "postern"),
  };
  await using opened = new AsyncDisposableStack();
  const built = opened.use(await build());
  const { pid, url } = opened.use(await startNode(built, env));
  const userId = await fill(databaseUrl);
  const running = opened.move();
  return {
    ...{ name: "Postern", pid, can: posternCan, warmSeconds: 2 },
    doors: [
      { who: "Postern gRPC", kind: "grpc", url },
      { who: "Postern REST", kind: "json", url },
    ],
    callsOf: (question: Question, { kind }: Door) => ({
      source: { module, options: { question, kind, token, userId } satisfies PosternCalls },
    }),
    startAgain: () => startNode(built, env),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Starts a node, until it answers its administrator. */
export async function startNode({ script }: Built, env: Readonly<Record<string, string>>) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${env.POSTERN_ADMIN_TOKEN}` };
  const isReady = async () => (await fetch(`${url}/v1/users/me`, { headers })).ok;
  const command = { file: "sh", args: [script], env: { ...env, PORT: String(port) } };
  return { ...(await startProgram(command, isReady)), url };
}

/** Makes users, projects and roles; returns the administrator. */
async function fill(databaseUrl: string): Promise<string> {
  await using sql = openClient(databaseUrl);
  const [admin] = await sql.client<{ owner: string; user_id: string }[]>`
    select owner, user_id from users where username = 'admin'`;
  if (!admin) throw new Error("there is no administrator");
  await seed(sql.client, admin.owner, { users, projects, grants: users * held, changes: 0 });
  return admin.user_id;
}
