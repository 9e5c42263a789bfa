import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../src/config/config.ts";
import { startServer } from "../src/server/server.ts";
import { begunDatabase, freshDatabase } from "./database.ts";
import { type Client, clientOf } from "./rest_client.ts";
import { testConfig } from "./settings.ts";

export { type Answer, type Client, clientOf } from "./rest_client.ts";

/** A running Postern with a database of its own. */
export type Postern = AsyncDisposable & {
  readonly url: string;
  /** The port for operators, if there is one. */
  readonly operationsUrl: string | undefined;
  readonly databaseUrl: string;
  readonly config: Config;
  /** The first administrator, an INSTANCE_OWNER. */
  readonly admin: Client;
  readonly adminId: string;
  /** The administrator's organization. */
  readonly organizationId: string;
  /** A client with another token, or with none. */
  readonly as: (token?: string) => Client;
};

/** Starts the real thing on a free port; settings may be overridden. */
export async function startPostern(overrides: Partial<Config> = {}): Promise<Postern> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "postern-data-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const { url: databaseUrl, ...secrets } = opened.use(await databaseFor(overrides, dataDir));
  const config: Config = { ...testConfig(), dataDir, databaseUrl, ...secrets, ...overrides };
  const server = opened.use(await startServer(config));
  const as = (token?: string) => clientOf(server.url, token);
  const admin = as(config.adminToken);
  const me = await admin.get("/v1/users/me");
  if (me.status !== 200) throw new Error(`the administrator cannot call: ${JSON.stringify(me.body)}`);
  const stack = opened.move();
  return {
    ...{ url: server.url, operationsUrl: server.operationsUrl, databaseUrl, config, admin, as },
    adminId: me.body.user.id,
    organizationId: me.body.organization.id,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

// Whoever has secrets of its own has its first start here.
const isOwn = ({ databaseUrl, adminToken, masterKeys, dataDir }: Partial<Config>): boolean =>
  [databaseUrl, adminToken, masterKeys, dataDir].some((setting) => setting !== undefined);

async function databaseFor(
  overrides: Partial<Config>,
  dataDir: string,
): Promise<AsyncDisposable & { readonly url: string }> {
  if (!isOwn(overrides)) return begunDatabase(dataDir);
  const { databaseUrl: url } = overrides;
  return url === undefined ? freshDatabase() : { url, async [Symbol.asyncDispose]() {} };
}

let shared: Promise<Postern> | undefined;

/**
 * The server that the files of this process share, with an administrator and an organization for each of them. It is for files that
 * change no setting and ask for nothing that belongs to the whole instance. It ends with the process.
 */
export async function sharedPostern(): Promise<Postern> {
  shared ??= startPostern();
  const postern = await shared;
  const organizationId = await organization(postern);
  const { userId, client } = await machine(postern, { organizationId });
  const added = await postern.admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true });
  if (added.status !== 200) throw new Error(JSON.stringify(added.body));
  return { ...postern, admin: client, adminId: userId, organizationId, async [Symbol.asyncDispose]() {} };
}

let count = 0;

/** A human user with a password and a session; answers its id and a client of its own. */
export async function signedUp(postern: Postern, { organizationId = postern.organizationId } = {}) {
  const username = `user${++count}-${randomBytes(3).toString("hex")}`;
  const password = "Blue-Kettle-42";
  const header = { "x-service-orgid": organizationId };
  const person = { username, givenName: "Ada", familyName: "Byron", email: `${username}@example.com`, password };
  // A batch sends no mail.
  const made = await postern.admin.post("/v1/users:batchCreate", { items: [{ human: person }] }, header);
  const session = await postern.as().post("/v1/sessions", { loginName: username, password });
  const userId: string | undefined = made.body.outcomes?.[0]?.created?.userId;
  if (!userId || session.status !== 200) throw new Error(JSON.stringify([made.body, session.body]));
  return { userId, username, password, client: postern.as(session.body.token) };
}

/** A machine user with an access token, and roles where they are asked for. */
export async function machine(postern: Postern, { organizationId = postern.organizationId } = {}) {
  const username = `machine${++count}-${randomBytes(3).toString("hex")}`;
  const header = { "x-service-orgid": organizationId };
  const created = await postern.admin.post("/v1/users/machine", { username, name: "Robot" }, header);
  const userId = created.body.userId as string;
  const token = await postern.admin.post(`/v1/users/${userId}/tokens`);
  if (token.status !== 200) throw new Error(JSON.stringify([created.body, token.body]));
  return { userId, username, tokenId: token.body.tokenId as string, client: postern.as(token.body.token) };
}

/** A new organization of the instance. */
export async function organization(postern: Pick<Postern, "admin">): Promise<string> {
  const created = await postern.admin.post("/v1/organizations", {
    name: `Organization ${++count} ${randomBytes(3).toString("hex")}`,
  });
  if (created.status !== 200) throw new Error(JSON.stringify(created.body));
  return created.body.organizationId;
}
