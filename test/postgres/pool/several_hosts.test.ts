import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, inject, test } from "vitest";
import { isOutcomeUnknown, isUnavailable } from "../../../src/postgres/failure.ts";
import { connect } from "../../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../../database.ts";
import { startPostern } from "../../harness.ts";
import { ask, quiet } from "../embedded/holder.ts";
import { openProxy } from "../proxy.ts";
import { startPair } from "../standby.ts";

const options = { connections: 4, waitMs: 60_000, statementTimeoutMs: 60_000, log: quiet };
const failureOf = (statement: PromiseLike<unknown>) =>
  statement.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Whether the server that answers is a standby, asked by so many connections at once. */
async function answeredBy(url: string): Promise<boolean[]> {
  await using db = connect(url, options);
  const ask = () => db.sql<{ standby: boolean }[]>`select pg_is_in_recovery() as standby, pg_sleep(0.05)`;
  return (await Promise.all([ask(), ask(), ask(), ask()])).map(([row]) => row?.standby ?? false);
}

test("connections go to the server that target_session_attrs asks for, and to the first one where it asks for none", async () => {
  await using pair = await startPair();
  const { primary, standby, urlOf } = pair;
  expect(await answeredBy(urlOf([standby, primary], "read-write"))).toEqual(Array(4).fill(false));
  expect(await answeredBy(urlOf([standby, primary], "primary"))).toEqual(Array(4).fill(false));
  expect(await answeredBy(urlOf([standby, primary], "any"))).toEqual(Array(4).fill(true));
  expect(await answeredBy(urlOf([primary, standby], "any"))).toEqual(Array(4).fill(false));
  for (const need of ["read-write", "primary"]) {
    await using db = connect(urlOf([standby], need), { ...options, waitMs: 200 });
    const failure = await failureOf(db.sql`select 1`);
    expect([isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([true, false]);
  }
  await ask(primary.url, "alter system set default_transaction_read_only = on");
  await ask(primary.url, "select pg_reload_conf()");
  await using written = connect(urlOf([standby, primary], "read-write"), { ...options, waitMs: 200 });
  expect(isUnavailable(await failureOf(written.sql`select 1`))).toBe(true);
  expect(await answeredBy(urlOf([standby, primary], "primary"))).toEqual(Array(4).fill(false));
});

test("a node goes over to the standby that was promoted, and no acknowledged write is lost", async () => {
  await using pair = await startPair();
  const { primary, standby, urlOf } = pair;
  const databaseUrl = urlOf([primary, standby], "read-write");
  await using postern = await startPostern({ databaseUrl });
  const ready = async () => (await fetch(`${postern.url}/readyz`)).status;
  await expect.poll(ready).toBe(200);
  const acknowledged: string[] = [];
  let round = 0;
  const write = async () => {
    const name = `Project ${++round}`;
    const { status } = await postern.admin.post("/v1/projects", { name });
    if (status === 200) acknowledged.push(name);
    return status;
  };
  for (let times = 0; times < 20; times++) expect(await write()).toBe(200);
  const running = Promise.all(Array.from({ length: 20 }, write));
  await primary.stop();
  const statuses = new Set(await running);
  // 500 is an outcome that is not known: no idempotency key came with it.
  expect([...statuses].filter((status) => ![200, 500, 503].includes(status))).toEqual([]);
  expect(await write()).toBe(503);
  await standby.promote();
  await expect.poll(write).toBe(200);
  await expect.poll(ready).toBe(200);
  const stored = await ask<{ name: string }>(standby.url, "select name from projects");
  const names = new Set(stored.map(({ name }) => name));
  expect(acknowledged.filter((name) => !names.has(name))).toEqual([]);
});

test("a host that swallows everything is left for one that answers, without waiting for the statements on it", async () => {
  await using at = await freshDatabase();
  await using first = await openProxy(at.url);
  await using second = await openProxy(at.url);
  const url = new URL(first.url);
  const ports = [first, second].map((one) => new URL(one.url).port);
  for (const [name, value] of [
    ["host", "127.0.0.1,127.0.0.1"],
    ["port", ports.join()],
    ["target_session_attrs", "read-write"],
  ] as const)
    url.searchParams.set(name, value);
  // A statement may run for a minute, so that a silent one is given up long after the poll.
  await using postern = await startPostern({ databaseUrl: url.href, databaseStatementTimeoutMs: 120_000 });
  let round = 0;
  const write = async () => (await postern.admin.post("/v1/projects", { name: `Project ${++round}` })).status;
  const ready = async () => (await fetch(`${postern.url}/readyz`)).status;
  expect(new Set(await Promise.all(Array.from({ length: 16 }, write)))).toEqual(new Set([200]));
  first.fail({ swallow: true });
  const hanging = Promise.all(Array.from({ length: 16 }, write));
  const probing = new AbortController();
  const probed = (async () => {
    while (!probing.signal.aborted) await ready();
  })();
  // 500 is an outcome that is not known: no idempotency key came with it.
  expect((await hanging).filter((status) => ![200, 500, 503, 504].includes(status))).toEqual([]);
  await expect.poll(write).toBe(200);
  await expect.poll(ready).toBe(200);
  probing.abort();
  await probed;
});

test("a node that starts is given the primary, wherever it stands in the list", async () => {
  await using pair = await startPair();
  const { primary, standby, urlOf } = pair;
  await using postern = await startPostern({ databaseUrl: urlOf([standby, primary], "read-write") });
  expect((await postern.admin.post("/v1/projects", { name: "Here" })).status).toBe(200);
});

test("a host that refuses, one that hangs up and one that says nothing cost their share of the time to connect", async () => {
  await using at = await freshDatabase({ empty: true });
  await using silent = await listen(() => {});
  await using rude = await listen((socket) => socket.end());
  const folder = new URL(at.url).searchParams.get("host");
  const url = new URL(inject("databaseUrl"));
  url.pathname = new URL(at.url).pathname;
  url.searchParams.set("host", `127.0.0.1,127.0.0.1,127.0.0.1,${folder}`);
  url.searchParams.set("port", `1,${silent.port},${rude.port},5432`);
  for (const need of ["any", "read-write"]) {
    url.searchParams.set("target_session_attrs", need);
    await using db = connect(url.href, { ...options, connectMs: 4_000 });
    expect(await db.sql`select current_database() as name`).toEqual([{ name: url.pathname.slice(1) }]);
  }
});

test("of a list where nobody answers each connection is given up", async () => {
  await using silent = await listen(() => {});
  const url = `postgresql://x@127.0.0.1:${silent.port},127.0.0.1:1,127.0.0.1:${silent.port}/x`;
  await using db = connect(url, { ...options, connectMs: 300 });
  const failures = await Promise.all([1, 2, 3].map(() => failureOf(db.sql`select 1`)));
  expect(failures.map((failure) => [isUnavailable(failure), isOutcomeUnknown(failure)])).toEqual(
    Array(3).fill([true, false]),
  );
});

test("closing while servers are tried ends the search", async () => {
  await using silent = await listen(() => {});
  const url = `postgresql://x@127.0.0.1:${silent.port},127.0.0.1:${silent.port}/x`;
  const db = connect(url, { ...options, connectMs: 600_000 });
  const waiting = failureOf(db.sql`select 1`);
  await silent.reached;
  await db.refuse(0);
  expect(isUnavailable(await waiting)).toBe(true);
  await db[Symbol.asyncDispose]();
});

async function listen(onSocket: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const reached = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    reached.resolve();
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" ? address?.port : 0,
    reached: reached.promise,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
