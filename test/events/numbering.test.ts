import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createLogger } from "../../src/config/logger.ts";
import { eventsAfter, type StoredEvent } from "../../src/events/follow.ts";
import { numberAll, numberBacklog } from "../../src/events/numbering.ts";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { openRuntime } from "../../src/runtime/runtime.ts";
import { freshDatabase } from "../database.ts";
import { fastFolder } from "../fast_folder.ts";
import { oneOf, type Random } from "../fuzz/random.ts";
import { startPostern } from "../harness.ts";
import { ask, postmasterOf, quiet } from "../postgres/embedded/holder.ts";
import { testConfig } from "../settings.ts";
import { oneConnection, unique } from "./log_of.ts";

const settings = { fsync: "off", full_page_writes: "off", max_connections: "50", max_prepared_transactions: "50" };
const wait = 60_000;

/** Numbers that repeat from a seed, up to a bound. */
function randomFrom(seed: number): Random {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** The driver may never answer for a connection that was lost. */
const inTime = <T>(answer: PromiseLike<T>): Promise<T> =>
  Promise.race([answer, pause(5_000, undefined, { ref: false }).then(() => Promise.reject(new Error("no answer")))]);

/** A connection that is made anew when it is lost. What it runs may fail with the connection, or be refused. */
function trying(url: string) {
  let client = oneConnection(url);
  return {
    run: (statement: string): Promise<boolean> =>
      inTime(client.sql.unsafe(statement)).then(
        () => true,
        () => false,
      ),
    async renew() {
      await client[Symbol.asyncDispose]();
      client = oneConnection(url);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

type Trying = ReturnType<typeof trying>;

const insert = (from: string) =>
  `insert into events (owner, stream, version, type, payload, request_id, time) select 'owner', stream, version, 'member.removed', '{}', 'request', now() from ${from}`;

const fresh = (count: number) =>
  insert(`(select '${unique("s")}-' || n, 1 from generate_series(1, ${count}) n) e (stream, version)`);

/** The next event of an object that others write too, as an operation appends it: one statement. */
const next = (random: Random) => {
  const stream = `shared${random(8)}`;
  return insert(
    `(select '${stream}', coalesce(max(version), 0) + 1 from events where owner = 'owner' and stream = '${stream}') e (stream, version)`,
  );
};

type Step = (client: Trying, random: Random) => Promise<unknown>;

const writes: readonly Step[] = [
  (client, random) => client.run(next(random)),
  (client, random) => client.run(next(random)),
  (client, random) => client.run(fresh(1 + random(3))),
  async (client, random) => {
    await client.run(`begin; ${fresh(1 + random(3))}`);
    await pause(random(400));
    await client.run(fresh(2));
    await client.run(oneOf(random, ["commit", "commit", "rollback"]));
  },
  async (client, random) => {
    const nested = Array.from(
      { length: 70 },
      (_, n) => `savepoint s${n}; ${fresh(1)}${n % 3 ? "" : `; rollback to s${n}`}`,
    );
    await client.run(`begin; ${nested.join("; ")}`);
    await pause(random(50));
    await client.run("commit");
  },
  async (client, random) => {
    const name = unique("prepared");
    await client.run(`begin; ${fresh(2)}`);
    await client.run(`prepare transaction '${name}'`);
    await pause(random(300));
    if (random(3)) await client.run(`${oneOf(random, ["commit", "rollback"])} prepared '${name}'`);
  },
  (client, random) => (random(4) ? client.run(fresh(20)) : client.run(fresh(4_000 + random(8_000)))),
  // A transaction that takes its place among the others and writes late, or nothing.
  async (client, random) => {
    await client.run("begin; select pg_current_xact_id()");
    await pause(random(300));
    await client.run(random(2) ? `${fresh(1)}; commit` : "rollback");
  },
];

async function write(url: string, random: Random, steps: number): Promise<void> {
  await using client = trying(url);
  for (let n = 0; n < steps; n++) {
    await oneOf(random, writes)(client, random);
    // Whatever a lost connection left open.
    if (!(await client.run("rollback"))) await client.renew();
  }
}

async function number(url: string, random: Random, { signal }: AbortController): Promise<void> {
  await using client = trying(url);
  while (!signal.aborted) {
    const call = `select number_events(${random(4) === 0})`;
    if (random(6)) await client.run(call);
    else {
      await client.run(`begin; ${call}`);
      await pause(random(60));
      await client.run(oneOf(random, ["commit", "rollback"]));
    }
    if (!(await client.run("rollback"))) await client.renew();
    await pause(random(30));
  }
}

/** Reads the log as it grows; answers what it has seen. */
async function follow(url: string, random: Random, { signal }: AbortController): Promise<StoredEvent[]> {
  const seen: StoredEvent[] = [];
  let client = oneConnection(url);
  for (let isLast = false; !isLast; await pause(random(50))) {
    isLast = signal.aborted;
    const most = isLast ? 1_000_000 : 1_000;
    const found = await inTime(eventsAfter(client.sql, seen.at(-1)?.number ?? 0n, most)).catch(() => undefined);
    if (found) seen.push(...found);
    else {
      isLast = false;
      await client[Symbol.asyncDispose]();
      client = oneConnection(url);
    }
  }
  await client[Symbol.asyncDispose]();
  return seen;
}

/** Kills a session that is at work, which ends all others, or the whole server; both recover. */
async function strike(url: string, data: string, random: Random): Promise<void> {
  const [session] = await ask<{ pid: number }>(
    url,
    `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
     order by query like '%number_events%' desc, state = 'active' desc, random() limit 1`,
  ).catch(() => []);
  if (!session) return;
  const pid = random(3) ? session.pid : await postmasterOf(data).catch(() => session.pid);
  try {
    process.kill(pid, pid === session.pid ? "SIGKILL" : oneOf(random, ["SIGKILL", "SIGQUIT"]));
  } catch {}
}

/** Tries until it succeeds: the server may be recovering. */
async function again(what: () => Promise<unknown>): Promise<void> {
  for (const end = Date.now() + wait; ; await pause(100))
    if (
      await what().then(
        () => true,
        (error: unknown) => (Date.now() > end ? Promise.reject(error) : false),
      )
    )
      return;
}

async function settle(url: string): Promise<void> {
  await again(async () => {
    for (const { gid } of await ask<{ gid: string }>(url, "select gid from pg_prepared_xacts"))
      await ask(url, `commit prepared '${gid}'`);
    await using client = oneConnection(url);
    await numberAll(client.sql);
  });
}

/** Every event was seen once, without gaps, each object's in the order of their sequence, those of a transaction as they were written. */
function expectWhole(seen: readonly StoredEvent[], positions: readonly bigint[]): void {
  expect(seen.map(({ number }) => number)).toEqual(seen.map((_, n) => BigInt(n + 1)));
  expect(seen.map(({ position }) => position).sort((one, other) => Number(one - other))).toEqual(positions);
  const versions = new Map<string, bigint>();
  const written = new Map<string, bigint>();
  const wrong = seen.filter(({ stream, version, xid, position }) => {
    const isNext = version === (versions.get(stream) ?? 0n) + 1n && position > (written.get(xid) ?? 0n);
    versions.set(stream, version);
    written.set(xid, position);
    return !isNext;
  });
  expect(wrong).toEqual([]);
}

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

test(`whatever is open, killed or recovered meanwhile, each event gets one number and is followed once (seed ${seed})`, async () => {
  await using opened = new AsyncDisposableStack();
  const folder = await fastFolder("postern-numbering-");
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  await chmod(folder, 0o711);
  const { url } = opened.use(await startEmbedded({ dataDir: join(folder, "data"), log: quiet, settings }));
  await migrate({ url, log: quiet });
  const randoms = Array.from({ length: 12 }, (_, n) => randomFrom(seed * 100 + n)) as [Random, ...Random[]];
  const over = new AbortController();
  const following = randoms.slice(0, 2).map((random) => follow(url, random, over));
  const numbering = randoms.slice(2, 5).map((random) => number(url, random, over));
  const writing = Promise.all(randoms.slice(5).map((random) => write(url, random, 30)));
  let isWritten = false;
  const striking = (async () => {
    for (let n = 0; n < 6 && !isWritten; n++) {
      await pause(1_000 + randoms[0](1_500));
      await strike(url, join(folder, "data/postgres/data"), randoms[0]);
    }
  })();
  await writing;
  isWritten = true;
  await striking;
  await settle(url);
  over.abort();
  await Promise.all(numbering);
  const found = await ask<{ position: bigint }>(url, "select position from events order by position");
  for (const seen of await Promise.all(following))
    expectWhole(
      seen,
      found.map(({ position }) => position),
    );
  expect(found.length).toBeGreaterThan(1_000);
}, 240_000);

test("a node follows the log from its end, once what was written without numbers has them", async () => {
  await using database = await freshDatabase();
  const { url: databaseUrl } = database;
  await migrate({ url: databaseUrl, log: quiet });
  await ask(databaseUrl, fresh(60_000));
  const config = { ...testConfig(), databaseUrl };
  await using runtime = await openRuntime(config, { logger: createLogger(config), serves: true });
  const followed: bigint[] = [];
  runtime.tail.listen({ events: (events) => followed.push(...events.map(({ number }) => number)), lost() {} });
  await ask(databaseUrl, fresh(1));
  await vi.waitFor(() => expect(followed.at(-1)).toBe(60_001n), { timeout: wait });
  expect(followed).toEqual([60_001n]);
}, 120_000);

test("a node starts although a session hangs in the middle of numbering", async () => {
  await using database = await freshDatabase();
  const { url: databaseUrl } = database;
  await using hung = oneConnection(databaseUrl);
  await hung.sql.unsafe("begin; select pg_advisory_xact_lock(7710653298)");
  await using maintenance = oneConnection(databaseUrl);
  const numbering = numberBacklog(maintenance.sql, quiet);
  await using postern = await startPostern({ databaseUrl });
  expect((await postern.admin.get("/v1/users/me")).status).toBe(200);
  expect(await numbering).toBe(false);
}, 120_000);

test("a batch that takes longer than statements may gets its numbers", async () => {
  await using postern = await startPostern({ databaseStatementTimeoutMs: 5_000 });
  // As the events of a transaction that wrote a million do.
  await ask(
    postern.databaseUrl,
    `create function takes_long() returns trigger language plpgsql as $$ begin perform pg_sleep(6); return null; end $$;
     create trigger takes_long before insert on event_numbers for each statement execute function takes_long()`,
  );
  const { body } = await postern.admin.post("/v1/projects", { name: "Late" });
  const numbered = () =>
    ask(
      postern.databaseUrl,
      `select from event_numbers join events using (position) where stream = '${body.projectId}'`,
    );
  await vi.waitFor(async () => expect(await numbered()).toHaveLength(1), { timeout: wait, interval: 200 });
}, 120_000);
