import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { expect, inject, test } from "vitest";
import { reasonOf } from "../../../src/errors.ts";
import {
  foreignKey,
  isOutcomeUnknown,
  isStatementTimeout,
  isUnavailable,
  unique,
} from "../../../src/postgres/failure.ts";
import { type ConnectOptions, connect } from "../../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../../database.ts";
import { quiet, until } from "../embedded/holder.ts";

const options: ConnectOptions = { connections: 4, waitMs: 300, statementTimeoutMs: 2_000, log: quiet };
const open = (changes: Partial<ConnectOptions> = {}, url = inject("databaseUrl")) =>
  connect(url, { ...options, ...changes });
const failureOf = (statement: PromiseLike<unknown>) =>
  statement.then(
    () => undefined,
    (error: unknown) => error,
  );

test("a bigint comes and goes as a bigint, and an array of them", async () => {
  await using db = open();
  const big = 9_007_199_254_740_993n;
  const [row] = await db.sql`select ${big}::int8 as one, array[${big}::int8] as many`;
  expect(row).toEqual({ one: big, many: [big] });
});

test("fragments are part of a statement and take no place of their own", async () => {
  await using db = open({ connections: 1 });
  const { sql } = db;
  const part = sql`where n > ${1}`;
  const rows = await sql`select n from generate_series(1, 3) n ${part} and n = any(${[2, 3]}) ${sql`order by n`}`;
  expect(rows.map(({ n }) => n)).toEqual([2, 3]);
});

test("what waits too long for a connection is refused as unavailable, and the rest goes through", async () => {
  await using at = await freshDatabase({ empty: true });
  await using db = open({ statementTimeoutMs: 30_000 }, at.url);
  await using gate = open({ connections: 1 }, at.url);
  await gate.sql`select pg_advisory_lock(1)`;
  const asked = Array.from({ length: 8 }, () => failureOf(db.sql`select pg_advisory_xact_lock_shared(1)`));
  // The first four have all connections and stay until the gate is opened.
  const refused = await Promise.all(asked.slice(4));
  expect(refused.map(reasonOf)).toEqual(Array(4).fill("UNAVAILABLE"));
  await gate.sql`select pg_advisory_unlock(1)`;
  expect(await Promise.all(asked.slice(0, 4))).toEqual(Array(4).fill(undefined));
  expect(await db.sql`select 1 as one`).toEqual([{ one: 1 }]);
});

test("what was refused for waiting never runs", async () => {
  await using at = await freshDatabase({ empty: true });
  await using db = open({ connections: 1, waitMs: 50 }, at.url);
  await db.sql`create table written (n int)`;
  const slow = db.sql`select pg_sleep(0.3)`.finally();
  const [, failure] = await Promise.all([slow, failureOf(db.sql`insert into written values (1)`)]);
  expect(reasonOf(failure)).toBe("UNAVAILABLE");
  expect(await db.sql`select n from written`).toEqual([]);
});

test("a slow statement holds nobody up while a connection is free", async () => {
  await using at = await freshDatabase({ empty: true });
  await using db = open({ connections: 2, statementTimeoutMs: 30_000 }, at.url);
  await using gate = open({ connections: 1 }, at.url);
  await gate.sql`select pg_advisory_lock(1)`;
  const slow = db.sql`select pg_advisory_xact_lock_shared(1)`.finally();
  for (let times = 0; times < 50; times++) await db.sql`select 1`;
  await gate.sql`select pg_advisory_unlock(1)`;
  await slow;
});

test("a statement is awaited once, a fragment stands in as many as it likes", async () => {
  await using db = open({});
  const some = db.sql`where n > 1`;
  const statement = db.sql`select n from generate_series(1, 3) n ${some}`;
  expect(await statement).toEqual([{ n: 2 }, { n: 3 }]);
  await expect(async () => await statement).rejects.toThrow("awaited once");
  expect(await db.sql`select count(*)::int as count from generate_series(1, 5) n ${some}`).toEqual([{ count: 4 }]);
});

test("a prepared statement of texts is prepared once for each connection, and awaited once", async () => {
  await using db = open({ connections: 1 });
  const { sql } = db;
  const text = "select $1 || ' and ' || $2 as both, null as none";
  const ask = (one: string, two: string) => sql.unsafe(text, [one, two], { prepare: true });
  expect(await ask("one", "two")).toEqual([{ both: "one and two", none: null }]);
  expect(await ask("'", "\u{1f600}\n")).toEqual([{ both: "' and \u{1f600}\n", none: null }]);
  expect(await sql.unsafe(text, ["1", "2"], { prepare: true }).values()).toEqual([["1 and 2", null]]);
  const prepared = await sql`select count(*)::int as count from pg_prepared_statements where statement = ${text}`;
  expect(prepared).toEqual([{ count: 1 }]);
  const asked = ask("1", "2");
  await asked;
  await expect(async () => await asked).rejects.toThrow("awaited once");
});

test("a prepared statement of texts that fails leaves its connection usable", async () => {
  await using db = open({ connections: 1 });
  const half = (text: string) => db.sql.unsafe("select 1 / length($1::text) as half", [text], { prepare: true });
  await expect(async () => await half("")).rejects.toMatchObject({ code: "22012" });
  expect(await half("x")).toEqual([{ half: 1 }]);
});

test("a statement that runs too long fails for certain", async () => {
  await using db = open({ statementTimeoutMs: 100 });
  const failure = await failureOf(db.sql`select pg_sleep(5)`);
  expect([isStatementTimeout(failure), isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([
    true,
    false,
    false,
  ]);
});

test("broken constraints are told by their names", async () => {
  await using at = await freshDatabase({ empty: true });
  await using db = open({}, at.url);
  await db.sql`create table parent (id int constraint parent_id primary key)`;
  await db.sql`create table child (id int constraint child_parent references parent (id))`;
  await db.sql`insert into parent values (1)`;
  expect(unique(await failureOf(db.sql`insert into parent values (1)`))).toBe("parent_id");
  expect(foreignKey(await failureOf(db.sql`insert into child values (2)`))).toBe("child_parent");
  expect(unique(await failureOf(db.sql`insert into child values (2)`))).toBeUndefined();
});

test("the outcome of a statement whose connection dies is unknown, and the pool goes on", async () => {
  await using db = open({ statementTimeoutMs: 60_000 });
  const cut = failureOf(db.sql`select pg_sleep(50) /* cut */`);
  await until(async () => {
    const ended = await db.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where query like '%/* cut */%' and state = 'active' and pid <> pg_backend_pid()`;
    return ended.count > 0;
  });
  const failure = await cut;
  expect([isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([true, true]);
  expect(await db.sql`select 1 as one`).toEqual([{ one: 1 }]);
});

test("a server that is not there is unavailable, with nothing done", async () => {
  for (const url of ["postgresql://nobody@127.0.0.1:1/none", "postgresql://x@localhost/none?host=%2Fnowhere"]) {
    await using db = open({}, url);
    const failure = await failureOf(db.sql`select 1`);
    expect([isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([true, false]);
  }
});

test("a missing file is not taken for a missing server", async () => {
  expect(isUnavailable(await failureOf(readFile("/nowhere")))).toBe(false);
});

test("a proxy that accepts and hangs up is unavailable at once", async () => {
  await using proxy = await listen((socket) => socket.end());
  await using db = open({}, proxy.url);
  expect(isUnavailable(await failureOf(db.sql`select 1`))).toBe(true);
});

test("a server that accepts and says nothing is given up", async () => {
  await using proxy = await listen(() => {});
  await using db = open({ connectMs: 200 }, proxy.url);
  expect(isUnavailable(await failureOf(db.sql`select 1`))).toBe(true);
});

test("a connection that falls silent is destroyed, and the next statement takes another", async () => {
  const url = new URL(inject("databaseUrl"));
  const path = `${url.searchParams.get("host")}/.s.PGSQL.5432`;
  const pairs: Socket[] = [];
  await using proxy = await listen((socket) => {
    const server = dial(path);
    pairs.push(server);
    server
      .on("error", () => {})
      .pipe(socket)
      .pipe(server);
  });
  await using db = open({ connections: 1, answerMs: 4_000 }, proxy.url);
  await db.sql`select 1`;
  for (const server of pairs) server.unpipe().pause();
  const failure = await failureOf(db.sql`select 2`);
  expect([isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([true, true]);
  expect(await db.sql`select 3 as three`).toEqual([{ three: 3 }]);
  for (const server of pairs) server.destroy();
});

test("a connection is used for its lifetime, and one without an end carries a transaction of any length", async () => {
  const servedBy = async (lifetimeMs: number) => {
    await using db = open({ connections: 1, lifetimeMs });
    const pids = [];
    for (let n = 0; n < 3; n++) pids.push((await db.sql`select pg_backend_pid() as pid`)[0]?.pid);
    return new Set(pids).size;
  };
  expect([await servedBy(0), await servedBy(Infinity)]).toEqual([3, 1]);
});

test("closing refuses what still waits", async () => {
  const db = open({ connections: 1, waitMs: 5_000 });
  const running = failureOf(db.sql`select pg_sleep(0.2)`);
  const waiting = failureOf(db.sql`select 1`);
  await db.sql`select 1`.catch(() => {});
  await Promise.all([db[Symbol.asyncDispose](), running, waiting]);
  expect(isUnavailable(await failureOf(db.sql`select 1`)) || reasonOf(await failureOf(db.sql`select 1`))).toBeTruthy();
});

async function listen(onSocket: (socket: Socket) => void): Promise<AsyncDisposable & { url: string }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `postgresql://postern@127.0.0.1:${port}/postgres`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
