import { expect, test } from "vitest";
import { startJobs } from "../../src/events/job_runner.ts";
import { folds } from "../../src/runtime/modules.ts";
import { restAfter } from "../../src/security/pace.ts";
import { freshDatabase } from "../database.ts";
import { oneConnection } from "./log_of.ts";

type Begun = { readonly id: string; readonly owner: string; readonly type: string };

/** Starts the jobs of a database in which some cannot go on, because nothing says what their type does. */
async function withJobs(begun: readonly Begun[], isShared = () => false) {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await freshDatabase());
  const { sql } = opened.use(oneConnection(url));
  await sql.unsafe(`
    create table lease_writes (n bigserial, operation text not null, time timestamptz not null default clock_timestamp());
    create function note_lease_write() returns trigger language plpgsql as $$
    begin insert into lease_writes (operation) values (tg_op); return null; end $$;
    create trigger note_lease_write after insert or update or delete on leases
      for each row execute function note_lease_write()`);
  for (const { id, owner, type } of begun)
    await sql`
      insert into jobs (job_id, owner, type, stream, version, payload, request_id, created)
      values (${id}, ${owner}, ${type}, ${id}, 1, '{}', 'request', now())`;
  const failures: unknown[] = [];
  // A batch asks for the time when it begins.
  const times: number[] = [];
  const clock = () => {
    times.push(performance.now());
    return new Date();
  };
  const traffic = {
    get isShared() {
      return isShared();
    },
  };
  const onError = (error: unknown) => void failures.push(error);
  // Nobody polls again during the test.
  const runner = startJobs({ sql, folds, clock, everyMs: 3_600_000, traffic, onError });
  const stop = () => runner[Symbol.asyncDispose]();
  opened.defer(stop);
  const stack = opened.move();
  const ended = async () =>
    (await sql<{ id: string }[]>`select job_id as id from jobs where ended is not null order by job_id`).map(
      ({ id }) => id,
    );
  return { sql, failures, times, ended, stop, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const stuck = (owner: string, count: number): Begun[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `a${String(n).padStart(4, "0")}-${owner}`,
    owner,
    type: "test.stuck",
  }));

test("an organization's jobs that cannot go on hold up nobody else's", async () => {
  const begun = [...stuck("a", 250), { id: "b", owner: "b", type: "project.deleted" }];
  await using jobs = await withJobs(begun);
  await expect.poll(jobs.ended).toEqual(["b"]);
});

test("they hold up none of the organization itself", async () => {
  const begun = [...stuck("a", 120), { id: "b", owner: "a", type: "project.deleted" }];
  await using jobs = await withJobs(begun);
  await expect.poll(jobs.ended, { timeout: 30_000 }).toEqual(["b"]);
});

test("every organization gets its turn, however many have jobs that cannot go on", async () => {
  const owners = Array.from({ length: 120 }, (_, n) => `a${String(n).padStart(4, "0")}`);
  const begun = [...owners.flatMap((owner) => stuck(owner, 1)), { id: "b", owner: "b", type: "project.deleted" }];
  await using jobs = await withJobs(begun);
  await expect.poll(jobs.ended).toEqual(["b"]);
  expect(jobs.failures).toHaveLength(owners.length);
});

const jobsOf = (owner: string, count: number): Begun[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${owner}${n}`, owner, type: "project.deleted" }));

test("a node takes the lease once for many batches, and gives it back when nothing is left", async () => {
  await using jobs = await withJobs(jobsOf("a", 9));
  await expect.poll(jobs.ended).toHaveLength(9);
  const writes = async () =>
    jobs.sql<{ operation: string; pause: number | null }[]>`
      select operation, extract(epoch from time - lag(time) over (order by n))::float as pause
      from lease_writes order by n`;
  await expect.poll(async () => (await writes()).at(-1)?.operation).toBe("DELETE");
  const [first, ...others] = await writes();
  expect(first?.operation).toBe("INSERT");
  expect(others.filter(({ operation }) => operation === "DELETE")).toHaveLength(1);
  // On a slow machine the lease is extended.
  for (const { operation, pause } of others) if (operation === "UPDATE") expect(pause).toBeGreaterThan(2.4);
});

test("a node that is stopped gives the lease back, whatever is left to do", async () => {
  await using jobs = await withJobs(jobsOf("a", 200));
  await expect.poll(async () => (await jobs.ended()).length).toBeGreaterThan(0);
  await jobs.stop();
  expect((await jobs.ended()).length).toBeLessThan(200);
  expect(await jobs.sql`select from leases`).toHaveLength(0);
});

test("while others call, each batch is followed by a rest of three times its length", async () => {
  const batchEnds: number[] = [];
  const isShared = () => {
    batchEnds.push(performance.now());
    return true;
  };
  await using jobs = await withJobs(jobsOf("a", 6), isShared);
  await expect.poll(jobs.ended).toHaveLength(6);
  for (const [n, begin] of jobs.times.slice(1).entries()) {
    const [began = 0, ended = 0] = [jobs.times[n], batchEnds[n]];
    // Timers may be a millisecond early.
    expect(begin - ended).toBeGreaterThan(restAfter(ended - began) - 2);
  }
});
