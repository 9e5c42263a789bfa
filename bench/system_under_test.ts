import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Served } from "../packages/gateway/bench/serve.ts";
import { newToken } from "../src/security/token.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { type Databases, servePostern } from "./server.ts";

/** A running service with a database of its own, and its administrator. */
export type SystemUnderTest = AsyncDisposable & {
  readonly databaseUrl: string;
  readonly server: Served;
  readonly token: string;
  readonly organizationId: string;
  readonly userId: string;
  readonly env: Readonly<Record<string, string>>;
};

type Secrets = { readonly POSTERN_ADMIN_TOKEN: string; readonly POSTERN_MASTER_KEY: string };

/** The database to copy, and settings of the service. */
export type SystemOptions = { readonly like?: string; readonly settings?: Readonly<Record<string, string>> };

/** Starts the service on a database of this name: a new one, or an existing one. */
export async function startSystem(
  databases: Databases,
  name: string,
  { like, settings }: SystemOptions = {},
): Promise<SystemUnderTest> {
  const databaseUrl = await databases.database(name, like);
  const secrets = await secretsIn(join(databases.folder, `${like ?? name}.json`));
  const env = { DATABASE_URL: databaseUrl, PORT: "0", LOG_LEVEL: "warn", ...settings, ...secrets };
  const server = await servePostern({ env });
  await using sql = openClient(databaseUrl);
  const [admin] = await sql.client`select owner, user_id from users where username = 'admin'`;
  return {
    ...{ databaseUrl, server, env, token: secrets.POSTERN_ADMIN_TOKEN },
    ...{ organizationId: admin?.owner, userId: admin?.user_id },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The token and the key that the database was made with. */
async function secretsIn(file: string): Promise<Secrets> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text) return JSON.parse(text) as Secrets;
  const made = { POSTERN_ADMIN_TOKEN: newToken("pt"), POSTERN_MASTER_KEY: randomBytes(32).toString("base64") };
  await writeFile(file, JSON.stringify(made), { mode: 0o600 });
  return made;
}
