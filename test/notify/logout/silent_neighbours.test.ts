import { readFile } from "node:fs/promises";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { organization, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { application, codeFor, exchange } from "../../provider/application.ts";
import { loopback } from "../../provider/https_server.ts";
import { claimsOf, openReceiver } from "../../provider/receiver.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";

let receiver: Awaited<ReturnType<typeof openReceiver>>;
let nodes: TwoNodes;
beforeAll(async () => {
  receiver = await openReceiver();
  const { outgoingCaFile } = receiver;
  nodes = await startTwoNodes({ outgoingPrivateNetworks: loopback, outgoingCaFile });
});
afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

/** A host that takes connections and never says a word, on every address of the loopback. */
async function swallow(port = 0) {
  let count = 0;
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    count += 1;
    sockets.add(socket.on("error", () => {}));
  });
  await new Promise<void>((resolve) => server.listen(port, "0.0.0.0", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    /** How many connections there were. */
    count: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sign-outs of an organization that have been due for a minute, each at an application of its own. */
async function signOutsDue(owner: string, uris: readonly string[]): Promise<void> {
  const { appId } = await application(nodes.one.admin, {}, { "x-service-orgid": owner });
  await ask(
    nodes.databaseUrl,
    `with apps as (
       insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
       select owner, app_id || n, project_id, name || n, client_id || n, jsonb_set(oidc, '{backChannelLogoutUri}', to_jsonb(uri)),
         version, created, changed
       from applications, unnest(string_to_array('${uris.join(" ")}', ' ')) with ordinality as given (uri, n)
       where app_id = '${appId}' returning app_id
     )
     select count(*) from apps`,
  );
  await ask(
    nodes.databaseUrl,
    `insert into logout_messages (session_id, user_id, app_id, created, due)
     select 's' || app_id, 'u', app_id, now(), now() - interval '1 minute' from applications
     where owner = '${owner}' and app_id <> '${appId}'`,
  );
}

const waiting = (owner: string) =>
  ask<{ attempts: number }>(nodes.databaseUrl, `select attempts from logout_messages where owner = '${owner}'`);

/** Signs somebody of the first organization in at an application and out again; answers the path that is to learn of it. */
async function signOutElsewhere(path: string): Promise<void> {
  const { admin, url } = nodes.two;
  const app = await application(admin, { backChannelLogoutUri: receiver.uri(path) });
  const person = await signedUp(nodes.one);
  const { code } = await codeFor(url, app, person);
  const { body } = await exchange(url, app, code);
  const { sid } = decodeJwt(body.id_token);
  expect((await admin.delete(`/v1/sessions/${sid}`)).status).toBe(200);
}

const arrived = (path: string) =>
  vi.waitFor(() => expect(receiver.claimsAt(path)).toHaveLength(1), { timeout: 120_000, interval: 20 });

test("a sign-out reaches its application while 500 of another organization wait for hosts that never answer", async () => {
  await using silent = await swallow();
  const owner = await organization(nodes.one);
  const hosts = Array.from({ length: 500 }, (_, n) => `127.1.${n >> 8}.${n & 255}`);
  await signOutsDue(
    owner,
    hosts.map((host) => `https://${host}:${silent.port}/`),
  );
  await vi.waitFor(() => expect(silent.count()).toBeGreaterThan(0), { timeout: 60_000 });
  await signOutElsewhere("/other");
  await arrived("/other");
  // One after the other, all of them would have been tried before.
  expect(silent.count()).toBeLessThan(250);
  expect(await waiting(owner)).toHaveLength(500);
  await ask(nodes.databaseUrl, `delete from logout_messages where owner = '${owner}'`);
});

test("a host that never answers is set aside for all its applications, and gets their sign-outs once it does", async () => {
  const owner = await organization(nodes.one);
  const count = 100;
  let port: number;
  {
    await using silent = await swallow();
    port = silent.port;
    await signOutsDue(
      owner,
      Array.from({ length: count }, (_, n) => `https://localhost:${port}/${n}`),
    );
    const looked = async () => (await waiting(owner)).filter(({ attempts }) => attempts > 0);
    await vi.waitFor(async () => expect(await looked()).toHaveLength(count), { timeout: 120_000 });
    expect(silent.count()).toBeLessThan(60);
    // It is set aside for this organization alone.
    await signOutElsewhere("/same-host");
    await arrived("/same-host");
    expect(await waiting(owner)).toHaveLength(count);
  }
  const told = new Set<string>();
  const { outgoingCaFile: cert } = receiver;
  const files = { cert: await readFile(cert), key: await readFile(cert.replace("cert.pem", "key.pem")) };
  const server = createHttpsServer(files, (request, response) => {
    request.on("data", (part) => told.add(claimsOf(new URLSearchParams(String(part)).get("logout_token") ?? "").sid));
    request.on("end", () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await vi.waitFor(async () => expect(await waiting(owner)).toEqual([]), { timeout: 240_000, interval: 200 });
  server.close();
  expect(told.size).toBe(count);
}, 400_000);

test("a host that never answers is one host, however its address is spelled", async () => {
  await using silent = await swallow();
  const owner = await organization(nodes.one);
  const hosts = Array.from({ length: 100 }, (_, n) => `127.0.0.${"0".repeat(n)}1`);
  await signOutsDue(
    owner,
    hosts.map((host) => `https://${host}:${silent.port}/`),
  );
  const looked = async () => (await waiting(owner)).filter(({ attempts }) => attempts > 0);
  await vi.waitFor(async () => expect(await looked()).toHaveLength(hosts.length), { timeout: 120_000 });
  expect(silent.count()).toBeLessThan(60);
  await ask(nodes.databaseUrl, `delete from logout_messages where owner = '${owner}'`);
}, 200_000);
