import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../packages/gateway/gen/grpc/health/v1/health_pb.ts";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { fastFolder } from "../fast_folder.ts";
import { client, eventually, holdOrganizations, type Node, readyStatus, startNode } from "../first_start.ts";
import { clientOf } from "../harness.ts";

async function folder() {
  const path = await fastFolder("postern-first-");
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const secret = async (path: string, file: string) => (await readFile(join(path, file), "utf8")).trim();
const isReady = async ({ url }: Node) => (await readyStatus(url)) === 200 || undefined;
const servingOf = async ({ url }: Node) =>
  (await createClient(Health, createGrpcTransport({ baseUrl: url })).check({})).status;

async function signsIn(url: string, password: string) {
  return (await clientOf(url).post("/v1/sessions", { loginName: "admin", password })).status === 200;
}

test("no node is ready before the first administrator can call, whichever creates it", async () => {
  await using database = await freshDatabase();
  await using data = await folder();
  const options = { databaseUrl: database.url, dataDir: data.path, adminToken: newToken("pt") };
  const held = await holdOrganizations(database.url);
  await using one = await startNode(options);
  await using two = await startNode(options);
  await eventually(async () => (await held.waiting()).length === 2 || undefined, "both nodes to wait");
  for (const node of [one, two]) {
    expect([await readyStatus(node.url), await readyStatus(node.url)]).toEqual([503, 503]);
    expect(await servingOf(node)).toBe(Status.NOT_SERVING);
    expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
  }
  await held[Symbol.asyncDispose]();
  for (const node of [one, two]) {
    await eventually(() => isReady(node), "readiness");
    const me = await clientOf(node.url, options.adminToken).get("/v1/users/me");
    expect(me.status).toBe(200);
    // Health is looked at every now and then, so it may be a little later than /readyz.
    await eventually(async () => (await servingOf(node)) === Status.SERVING || undefined, "health");
  }
});

test("at the first 200 of /readyz the token in the data folder can call", async () => {
  await using database = await freshDatabase({ empty: true });
  await using data = await folder();
  await using node = await startNode({ databaseUrl: database.url, dataDir: data.path });
  await eventually(() => isReady(node), "readiness");
  const me = await clientOf(node.url, await secret(data.path, "admin-token")).get("/v1/users/me");
  expect(me).toMatchObject({ status: 200, body: { roles: [{ role: "INSTANCE_OWNER" }] } });
});

for (const shared of [false, true]) {
  test(`of three nodes that start together ${shared ? "on one data folder" : "each on its own data folder"}, one makes the administrator`, () =>
    startThree(shared));
}

async function startThree(shared: boolean) {
  await using database = await freshDatabase();
  await using stack = new AsyncDisposableStack();
  const folders = [stack.use(await folder()), stack.use(await folder()), stack.use(await folder())];
  const paths = folders.map(({ path }) => (shared ? (folders[0]?.path ?? path) : path));
  const held = await holdOrganizations(database.url);
  const nodes: Node[] = [];
  for (const dataDir of paths) nodes.push(stack.use(await startNode({ databaseUrl: database.url, dataDir })));
  await eventually(async () => (await held.waiting()).length === 3 || undefined, "all nodes to wait");
  await held[Symbol.asyncDispose]();
  for (const node of nodes) await eventually(() => isReady(node), "readiness");
  await expectOneAdministrator({ nodes, paths: [...new Set(paths)] });
  const made = (text: string) => nodes.filter((node) => node.output().includes(text)).length;
  expect([made("created the first administrator;"), made("another node created the first administrator")]).toEqual([
    1, 2,
  ]);
}

/** One folder holds the administrator's secrets, under their final names; the others hold none. */
async function expectOneAdministrator({ nodes, paths }: { nodes: readonly Node[]; paths: readonly string[] }) {
  const names = (await Promise.all(paths.map((path) => readdir(path)))).flat();
  expect(names.filter((name) => name.startsWith("admin-")).sort()).toEqual(["admin-password", "admin-token"]);
  const holder = paths.find((path) => existsSync(join(path, "admin-token"))) ?? "";
  const [token, password] = [await secret(holder, "admin-token"), await secret(holder, "admin-password")];
  for (const { url } of nodes) {
    const me = await clientOf(url, token).get("/v1/users/me");
    expect(me).toMatchObject({ status: 200, body: { roles: [{ role: "INSTANCE_OWNER" }] } });
    expect(await signsIn(url, password)).toBe(true);
  }
}

/** The roles of the sample project, as the administrator sees them. */
async function sampleRoles(url: string, token: string) {
  const admin = clientOf(url, token);
  const { body } = await admin.get("/v1/projects");
  const roles = await admin.get(`/v1/projects/${body.projects[0].id}/roles`);
  return roles.body.roles.map(({ key }: { key: string }) => key).sort();
}

test("a node that was killed after the administrator was created gets the secrets at its next start", async () => {
  await using database = await freshDatabase();
  await using data = await folder();
  const options = { databaseUrl: database.url, dataDir: data.path };
  const held = await holdOrganizations(database.url);
  const killed = await startNode(options);
  await eventually(async () => (await held.waiting()).length === 1 || undefined, "the node to wait");
  await killed[Symbol.asyncDispose]();
  // The statement waits on in the server, and creates the administrator for a process that is gone.
  await held[Symbol.asyncDispose]();
  const sql = client(database.url);
  await eventually(async () => (await sql`select from organizations`).length === 1 || undefined, "the organization");
  await sql.end();
  expect(existsSync(join(data.path, "admin-token"))).toBe(false);
  await using node = await startNode(options);
  await eventually(() => isReady(node), "readiness");
  await expectOneAdministrator({ nodes: [node], paths: [data.path] });
  expect(await sampleRoles(node.url, await secret(data.path, "admin-token"))).toEqual(["editor", "viewer"]);
});

test("a node that was killed before the administrator was created leaves nothing false to its next start", async () => {
  await using database = await freshDatabase();
  await using data = await folder();
  const options = { databaseUrl: database.url, dataDir: data.path };
  const held = await holdOrganizations(database.url);
  const killed = await startNode(options);
  await eventually(async () => (await held.waiting()).length === 1 || undefined, "the node to wait");
  await killed[Symbol.asyncDispose]();
  await held.terminateWaiting();
  await held[Symbol.asyncDispose]();
  await using node = await startNode(options);
  await eventually(() => isReady(node), "readiness");
  await expectOneAdministrator({ nodes: [node], paths: [data.path] });
});

test("a start says why nobody could sign in: behind a proxy without PUBLIC_URL, or with one that is no issuer", async () => {
  await using database = await freshDatabase();
  await using data = await folder();
  const warnings = async (env: Readonly<Record<string, string>>) => {
    await using node = await startNode({ databaseUrl: database.url, dataDir: data.path, env });
    await eventually(() => isReady(node), "readiness");
    const lines = node.output().split("\n");
    return lines.flatMap((line) => /"level":40,.*"msg":"([^:"]*):/.exec(line)?.[1] ?? []);
  };
  const behind = { TRUSTED_PROXIES: "192.0.2.1" };
  expect(await warnings(behind)).toEqual(["TRUSTED_PROXIES is set and PUBLIC_URL is not"]);
  expect(await warnings({ ...behind, PUBLIC_URL: "https://id.example" })).toEqual([]);
  const path = "PUBLIC_URL has a path, or http to another machine";
  expect(await warnings({ PUBLIC_URL: "https://id.example/auth" })).toEqual([path]);
});
