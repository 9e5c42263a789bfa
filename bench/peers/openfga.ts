import { randomUUID } from "node:crypto";
import { openClient } from "../../test/fixture/database_client.ts";
import { idOf, role } from "../../test/fixture/seed.ts";
import type { DatabaseServer } from "../server.ts";
import type { OpenfgaCalls } from "./openfga_calls.ts";
import { answers, finish, freePort, startProgram } from "./program.ts";
import { batch, held, type Question, users } from "./question.ts";
import type { Door, System } from "./system.ts";

const module = new URL("./openfga_calls.ts", import.meta.url).href;
const can: readonly Question[] = ["grant", "list", "check", "batch"];
const file = process.env.OPENFGA || "openfga";

// The most tuples that one Write takes.
const tuplesAtOnce = 100;

/** Starts OpenFGA with a pool of so many connections; nothing where it is missing. */
export async function startOpenfga(databases: DatabaseServer, pool: number): Promise<System | undefined> {
  if (!(await answers(file, ["version"]))) return undefined;
  const databaseUrl = await databases.database("peers_openfga");
  const datastore = ["--datastore-engine", "postgres", "--datastore-uri", `${databaseUrl}?sslmode=disable`];
  await finish({ file, args: ["migrate", ...datastore] });
  const token = randomUUID();
  const ports = { grpc: await freePort(), http: await freePort(), metrics: await freePort() };
  const [grpc = "", http = "", metrics = ""] = Object.values(ports).map((port) => `127.0.0.1:${port}`);
  const url = `http://${http}`;
  const args = [
    ...["run", ...datastore, "--datastore-max-open-conns", `${pool}`, "--datastore-max-idle-conns", `${pool}`],
    ...["--grpc-addr", grpc, "--http-addr", http, "--metrics-addr", metrics, "--log-level", "error"],
    ...["--authn-method", "preshared", "--authn-preshared-keys", token, "--max-checks-per-batch-check", `${batch}`],
  ];
  await using opened = new AsyncDisposableStack();
  const program = opened.use(await startProgram({ file, args }, async () => (await fetch(`${url}/healthz`)).ok));
  const ids = await fill(url, token);
  await using sql = openClient(databaseUrl);
  await sql.client.unsafe("analyze");
  const running = opened.move();
  return {
    name: "OpenFGA",
    pid: program.pid,
    can,
    doors: [
      { who: "OpenFGA gRPC", kind: "grpc", url: `http://${grpc}` },
      { who: "OpenFGA HTTP", kind: "json", url },
    ],
    callsOf: (question: Question, { kind }: Door) => ({
      source: { module, options: { question, kind, token, ...ids } satisfies OpenfgaCalls },
    }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const types = [
  { type: "user" },
  {
    type: "project",
    relations: { [role]: { this: {} } },
    metadata: { relations: { [role]: { directly_related_user_types: [{ type: "user" }] } } },
  },
];

/** Makes a store where each user has its roles. */
async function fill(url: string, token: string) {
  const { id: store = "" } = await post(`${url}/stores`, token, { name: "peers" });
  const model = { schema_version: "1.1", type_definitions: types };
  const made = await post(`${url}/stores/${store}/authorization-models`, token, model);
  const ids = { store, model: made.authorization_model_id ?? "" };
  for (let n = 0; n < users * held; n += tuplesAtOnce) {
    const tuple_keys = Array.from({ length: tuplesAtOnce }, (_, at) => tupleOf(n + at));
    await post(`${url}/stores/${store}/write`, token, { writes: { tuple_keys }, authorization_model_id: ids.model });
  }
  return ids;
}

const tupleOf = (n: number) => ({
  user: `user:${idOf("user", n % users)}`,
  relation: role,
  object: `project:${idOf("project", Math.floor(n / users))}`,
});

async function post(url: string, token: string, body: object): Promise<Readonly<Record<string, string>>> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as Record<string, string>;
}
