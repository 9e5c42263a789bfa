import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../gen/grpc/health/v1/health_pb.ts";
import { newToken } from "../src/security/token.ts";
import { freshDatabase } from "./database.ts";
import { client, eventually, holdOrganizations, type Node, readyStatus, startNode } from "./first_start.ts";
import { clientOf } from "./harness.ts";

async function folder() {
  const path = await mkdtemp(join(tmpdir(), "postern-first-"));
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
  for (let round = 0; round < 3; round++) {
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
  }
});

test("at the first 200 of /readyz the token in the data folder can call", async () => {
  for (let round = 0; round < 3; round++) {
    await using database = await freshDatabase({ empty: true });
    await using data = await folder();
    await using node = await startNode({ databaseUrl: database.url, dataDir: data.path });
    await eventually(() => isReady(node), "readiness");
    const me = await clientOf(node.url, await secret(data.path, "admin-token")).get("/v1/users/me");
    expect(me).toMatchObject({ status: 200, body: { roles: [{ role: "INSTANCE_OWNER" }] } });
  }
});
