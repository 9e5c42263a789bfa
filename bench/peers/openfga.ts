import { randomUUID } from "node:crypto";
import { openClient } from "../../test/fixture/database_client.ts";
import { idOf, role } from "../../test/fixture/seed.ts";
import type { DatabaseServer } from "../server.ts";
import type { OpenfgaCalls } from "./openfga_calls.ts";
import { answers, finish, freePort, startProgram } from "./program.ts";
import { batch, held, type Question, users } from "./question.ts";
import type { Door, System } from "./system.ts";

const module = new URL("./openfga_calls.ts", import.meta.url).href;
const file = process.env.OPENFGA || "openfga";

/** The questions that OpenFGA answers. */
export const openfgaCan: readonly Question[] = ["grant", "list", "check", "batch"];

// The most tuples that one Write takes.
const tuplesAtOnce = 100;

/** Starts OpenFGA with a pool of so many connections; nothing where it is missing. */
export async function startOpenfga(databases: DatabaseServer, pool: number): Promise<System | undefined> {
  if (!(await answers(file, ["version"]))) return undefined;
  const databaseUrl = await databases.database("peers_openfga");
  const token = randomUUID();
  const datastore = ["--datastore-engine", "postgres", "--datastore-uri", `${databaseUrl}?sslmode=disable`];
  await finish({ file, args: ["migrate", ...datastore] });
  const pools = ["--datastore-max-open-conns", `${pool}`, "--datastore-max-idle-conns", `${pool}`];
  const args = ["run", ...datastore, ...pools, "--authn-method", "preshared", "--authn-preshared-keys", token];
  await using opened = new AsyncDisposableStack();
  const { pid, url, grpcUrl } = opened.use(await startNode(args));
  const ids = await fill(url, { token, databaseUrl });
  const running = opened.move();
  return {
    ...{ name: "OpenFGA", pid, can: openfgaCan, warmSeconds: 1 },
    doors: [
      { who: "OpenFGA gRPC", kind: "grpc", url: grpcUrl },
      { who: "OpenFGA HTTP", kind: "json", url },
    ],
    callsOf: (question: Question, { kind }: Door) => ({
      source: { module, options: { question, kind, token, ...ids } satisfies OpenfgaCalls },
    }),
    startAgain: () => startNode(args),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function startNode(common: readonly string[]) {
  const [grpc, http, metrics] = [await freeAddress(), await freeAddress(), await freeAddress()];
  const url = `http://${http}`;
  const addresses = ["--grpc-addr", grpc, "--http-addr", http, "--metrics-addr", metrics];
  const limits = ["--max-checks-per-batch-check", `${batch}`];
  const args = [...common, ...addresses, ...limits, "--log-level", "error"];
  const program = await startProgram({ file, args }, async () => (await fetch(`${url}/healthz`)).ok);
  return { ...program, url, grpcUrl: `http://${grpc}` };
}

const freeAddress = async () => `127.0.0.1:${await freePort()}`;

const types = [
  { type: "user" },
  {
    type: "project",
    relations: { [role]: { this: {} } },
    metadata: { relations: { [role]: { directly_related_user_types: [{ type: "user" }] } } },
  },
];

type Filling = { readonly token: string; readonly databaseUrl: string };

/** Makes a store where each user has its roles. */
async function fill(url: string, { token, databaseUrl }: Filling) {
  const { id: store = "" } = await post(`${url}/stores`, token, { name: "peers" });
  const model = { schema_version: "1.1", type_definitions: types };
  const made = await post(`${url}/stores/${store}/authorization-models`, token, model);
  const ids = { store, model: made.authorization_model_id ?? "" };
  for (let n = 0; n < users * held; n += tuplesAtOnce) {
    const tuple_keys = Array.from({ length: tuplesAtOnce }, (_, at) => tupleOf(n + at));
    await post(`${url}/stores/${store}/write`, token, { writes: { tuple_keys }, authorization_model_id: ids.model });
  }
  await using sql = openClient(databaseUrl);
  await sql.client.unsafe("analyze");
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
