import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { isUnavailable } from "../../../src/postgres/failure.ts";
import { clientOptions, connect, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../../database.ts";
import type { Client } from "../../harness.ts";
import { ask, quiet, until } from "../embedded/holder.ts";
import { type DatabaseProxy, type Faults, openProxy } from "../proxy.ts";
import { type Serving, serve } from "../serving.ts";

const faults: readonly (readonly [string, Faults])[] = [
  ["at its startup message", { resetAt: (message) => message.includes("application_name") }],
  ["at its first statement", { resetAt: (_, statements) => statements === 1 }],
  ["at its second statement", { resetAt: (_, statements) => statements === 2 }],
  ["when it asks for the types of arrays", { resetAt: (message) => message.includes("typarray") }],
];

describe("a service whose connections are reset", () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());
  let proxy: DatabaseProxy;
  let postern: Serving;
  beforeAll(async () => {
    proxy = opened.use(await openProxy(opened.use(await freshDatabase()).url));
    postern = opened.use(await serve(proxy.url));
  });

  test.each(faults)("a connection that is reset %s ends no process", async (_, fault) => {
    const projects = () => postern.admin.get("/v1/projects?pageSize=1").then(({ status }) => status);
    await expect.poll(projects).toBe(200);
    proxy.fail(fault);
    proxy.reset();
    const statuses = new Set<number>();
    for (let round = 0; round < 20; round++)
      for (const status of await Promise.all(Array.from({ length: 8 }, projects))) statuses.add(status);
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(postern.child.exitCode).toBeNull();
    proxy.fail({});
    await expect.poll(projects).toBe(200);
    expect(postern.child.exitCode).toBeNull();
  });
});

const cuts: readonly (readonly [string, (proxy: DatabaseProxy) => void])[] = [
  ["was reset", ({ reset }) => reset()],
  ["was closed by the server", ({ halfClose }) => halfClose("client")],
  ["was closed on the way to the server", ({ halfClose }) => halfClose("server")],
];

test.each(cuts)(
  "a connection that %s while it was idle is replaced, also where the next ones are refused and slow",
  async (_, cut) => {
    await using proxy = await openProxy(inject("databaseUrl"));
    const options = { connections: 2, waitMs: 60_000, statementTimeoutMs: 60_000, log: quiet };
    await using db = connect(proxy.url, options);
    const statement = () =>
      db.sql`select 1 as one`.then(
        (rows) => rows.length,
        (error: unknown) => isUnavailable(error) || error,
      );
    expect(await Promise.all([statement(), statement()])).toEqual([1, 1]);
    proxy.fail({ refuse: true });
    cut(proxy);
    for (let times = 0; times < 10; times++) expect(await statement()).toBe(true);
    proxy.fail({ delayMs: 20 });
    await expect.poll(statement).toBe(1);
    expect(await Promise.all(Array.from({ length: 10 }, statement))).toEqual(Array(10).fill(1));
  },
);

test("a storm of ended backends loses no acknowledged write, stalls no call, and ends no process", async () => {
  await using at = await freshDatabase();
  await using postern = await serve(at.url);
  const stopping = new AbortController();
  const writers = Array.from({ length: 16 }, (_, number) => startWriter(postern.admin, number, stopping.signal));
  const slowestMs = await endBackends(at.url, 3_000);
  const during = writers.map(({ names }) => names.length);
  const isAnswered = () => writers.every(({ names }, at) => names.length > (during[at] ?? 0));
  await until(async () => isAnswered() && writers.flatMap(({ names }) => names).length > 100);
  stopping.abort();
  await Promise.all(writers.map(({ ended }) => ended));
  const acknowledged = writers.flatMap(({ names }) => names);
  const stored = new Set((await ask<{ name: string }>(at.url, "select name from projects")).map(({ name }) => name));
  expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
  // A connection that never says hello fails its statement by this code, five seconds later; on a machine that stalled others do.
  const late = postern.lines.filter((line) => JSON.stringify(line).includes("CONNECT_TIMEOUT"));
  if (slowestMs < 1_000) expect(late).toEqual([]);
  expect(postern.lines.filter(({ code }) => code === "INTERNAL")).toEqual([]);
  expect(postern.child.exitCode).toBeNull();
});

/** Ends backends of the service at random, several at a time; returns how long the slowest round took. */
async function endBackends(url: string, milliseconds: number): Promise<number> {
  const admin = postgres(driverUrl(url), { ...clientOptions(url, quiet), max: 1 });
  let slowest = 0;
  for (const end = performance.now() + milliseconds; performance.now() < end; ) {
    const began = performance.now();
    await admin`
      select pg_terminate_backend(pid) from (
        select pid from pg_stat_activity
        where datname = current_database() and application_name = 'postern' order by random() limit 3) chosen`;
    await sleep(15);
    slowest = Math.max(slowest, performance.now() - began);
  }
  await admin.end();
  return slowest;
}

/** Creates one project after the other, and keeps the names of those that were acknowledged. */
function startWriter(client: Client, writer: number, signal: AbortSignal) {
  const names: string[] = [];
  const write = async () => {
    for (let number = 0; !signal.aborted; number++) {
      const name = `project ${writer}-${number}`;
      const { status } = await client.post("/v1/projects", { name });
      if (status === 200) names.push(name);
      // All connections are in use as it is.
      await sleep(10);
    }
  };
  return { names, ended: write() };
}
