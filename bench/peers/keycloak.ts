import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { openClient } from "../../test/fixture/database_client.ts";
import { idOf, role } from "../../test/fixture/seed.ts";
import type { DatabaseServer } from "../server.ts";
import { type KeycloakCalls, realm, roleIdOf } from "./keycloak_calls.ts";
import { answers, childOf, freePort, startProgram } from "./program.ts";
import { held, type Question, users } from "./question.ts";
import type { System } from "./system.ts";

const module = new URL("./keycloak_calls.ts", import.meta.url).href;
const caller = "peers";
// Grants come in hundreds a second here: a hundred projects suffice, each a client.
const projects = 100;
const home = process.env.KEYCLOAK_HOME;
const file = home ? join(home, "bin", "kc.sh") : "kc.sh";

/** The questions that Keycloak answers. */
export const keycloakCan: readonly Question[] = ["grant", "list", "check", "me", "user", "application", "password"];

/** Starts Keycloak with a pool of so many connections; nothing where it is missing. */
export async function startKeycloak(databases: DatabaseServer, pool: number): Promise<System | undefined> {
  if (!(await isThere())) return undefined;
  const databaseUrl = await databases.database("peers_keycloak");
  const password = randomUUID();
  const options = { databaseUrl, pool, password };
  await using opened = new AsyncDisposableStack();
  const { pid, url } = opened.use(await startNode(options));
  await prepareMaster(url, await tokenOf(url, { password, client_id: "admin-cli" }));
  const token = await tokenOf(url, { password, client_id: "admin-cli" });
  await fill(url, { token, databaseUrl });
  const own = await tokenOf(url, { password, client_id: caller });
  const me = await call(`${url}/realms/master/protocol/openid-connect/userinfo`, { token: own });
  const { sub: userId } = (await me.json()) as { sub: string };
  const running = opened.move();
  return {
    ...{ name: "Keycloak", pid, can: keycloakCan, warmSeconds: 15 },
    doors: [{ who: "Keycloak", kind: "json", url }],
    callsOf: (question: Question) => ({
      source: { module, options: { question, token: question === "me" ? own : token, userId } satisfies KeycloakCalls },
    }),
    startAgain: () => startNode(options),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Whether the program was found. */
export const isThere = (): Promise<boolean> => answers(file, ["--version"]);

type Options = { readonly databaseUrl: string; readonly pool: number; readonly password: string };

/** Starts the program, until it answers. */
export async function startNode({ databaseUrl, pool, password }: Options) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { host, pathname, username } = new URL(databaseUrl);
  const args = [
    ...["start", "--optimized", "--http-enabled=true", "--http-host=127.0.0.1", `--http-port=${port}`],
    ...["--hostname-strict=false", `--http-management-port=${await freePort()}`, "--log-level=warn"],
    ...[`--db-url=jdbc:postgresql://${host}${pathname}`, `--db-username=${username}`, "--db-password=none"],
    `--db-pool-max-size=${pool}`,
  ];
  const env = { KC_BOOTSTRAP_ADMIN_USERNAME: "admin", KC_BOOTSTRAP_ADMIN_PASSWORD: password };
  const isReady = async () => (await fetch(`${url}/realms/master`)).ok;
  const shell = await startProgram({ file, args, env }, isReady);
  return { ...shell, pid: await childOf(shell.pid), url };
}

type SignIn = { readonly password: string; readonly client_id: string };

/** A token of the administrator of all realms. */
export async function tokenOf(url: string, signIn: SignIn): Promise<string> {
  const body = new URLSearchParams({ grant_type: "password", username: "admin", scope: "openid", ...signIn });
  const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: "POST", body });
  if (!answer.ok) throw new Error(await answer.text());
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** Lets tokens live for hours, since one of a minute would end within a round; and makes a client whose tokens userinfo takes. */
async function prepareMaster(url: string, token: string): Promise<void> {
  await call(`${url}/admin/realms/master`, { token, method: "PUT", body: { accessTokenLifespan: 30_000 } });
  const body = { clientId: caller, publicClient: true, directAccessGrantsEnabled: true };
  await call(`${url}/admin/realms/master/clients`, { token, method: "POST", body });
}

type Filling = { readonly token: string; readonly databaseUrl: string };

/** Makes a realm with a client for each project, its role, and users who hold some; those by its tables, since it makes few a second. */
async function fill(url: string, { token, databaseUrl }: Filling): Promise<void> {
  const ids = Array.from({ length: projects }, (_, n) => idOf("project", n));
  const clients = ids.map((id) => ({ id, clientId: id }));
  const client = Object.fromEntries(ids.map((id) => [id, [{ id: roleIdOf(id), name: role }]]));
  const body = { realm, enabled: true, clients, roles: { client } };
  await call(`${url}/admin/realms`, { token, method: "POST", body });
  await using sql = openClient(databaseUrl);
  await sql.client.unsafe(usersSql);
  await sql.client.unsafe("analyze");
}

const usersSql = `
  with made as (
    insert into user_entity (id, username, email, email_constraint, first_name, last_name, enabled, email_verified,
      realm_id, created_timestamp, not_before)
    select '000u' || lpad(n::text, 20, '0'), 'load' || n, 'load' || n || '@example.com', 'load' || n || '@example.com',
      'Ada', 'Byron', true, false, realm.id, extract(epoch from now()) * 1000, 0
    from generate_series(0, ${users - 1}) n, realm where realm.name = '${realm}' returning id)
  insert into user_role_mapping (user_id, role_id)
  select made.id, '${roleIdOf("")}000p' || lpad(n::text, 20, '0') from made, generate_series(0, ${held - 1}) n
  union all select made.id, realm.default_role from made, realm where realm.name = '${realm}'`;

type Sending = { readonly token: string; readonly method?: string; readonly body?: object };

/** Sends a request as the bearer of a token; throws for anything but success. */
export async function call(url: string, { token, method = "GET", body }: Sending): Promise<Response> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const answer = await fetch(url, { method, headers, body: body ? JSON.stringify(body) : null });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer;
}
