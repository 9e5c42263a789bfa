import { openClient } from "../../test/fixture/database_client.ts";
import { seed } from "../../test/fixture/seed.ts";
import type { DatabaseServer } from "../server.ts";
import { startSystem } from "../system_under_test.ts";
import type { PosternCalls } from "./postern_calls.ts";
import { held, type Question, users } from "./question.ts";
import type { Door, System } from "./system.ts";

const module = new URL("./postern_calls.ts", import.meta.url).href;
const projects = 500;
const can: readonly Question[] = ["grant", "list", "check", "batch", "me", "user", "application", "password"];

// The cost of Keycloak's own hashes.
const hashing = { HASH_MEMORY_KIB: "7168", HASH_ITERATIONS: "5" };

/** Starts Postern with a pool of so many connections. */
export async function startPostern(databases: DatabaseServer, pool: number): Promise<System> {
  const settings = { DATABASE_CONNECTIONS: String(pool), ...hashing };
  await using opened = new AsyncDisposableStack();
  const system = opened.use(await startSystem(databases, "peers_postern", { settings }));
  const { server, token, userId, organizationId, databaseUrl } = system;
  await using sql = openClient(databaseUrl);
  await seed(sql.client, organizationId, { users, projects, grants: users * held, changes: 0 });
  const running = opened.move();
  return {
    name: "Postern",
    pid: server.child.pid ?? 0,
    can,
    doors: [
      { who: "Postern gRPC", kind: "grpc", url: server.url },
      { who: "Postern REST", kind: "json", url: server.url },
    ],
    callsOf: (question: Question, { kind }: Door) => ({
      source: { module, options: { question, kind, token, userId } satisfies PosternCalls },
    }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
