import { expect, test } from "vitest";
import { startJobs } from "../../src/events/job_runner.ts";
import { folds } from "../../src/runtime/modules.ts";
import { freshDatabase } from "../database.ts";
import { oneConnection } from "./log_of.ts";

type Begun = { readonly id: string; readonly owner: string; readonly type: string };

/** Starts the jobs of a database in which some cannot go on, because nothing says what their type does. */
async function withJobs(begun: readonly Begun[]) {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await freshDatabase());
  const { sql } = opened.use(oneConnection(url));
  for (const { id, owner, type } of begun)
    await sql`
      insert into jobs (job_id, owner, type, stream, version, payload, request_id, created)
      values (${id}, ${owner}, ${type}, ${id}, 1, '{}', 'request', now())`;
  const failures: unknown[] = [];
  const clock = () => new Date();
  // Nobody polls again during the test.
  opened.use(startJobs({ sql, folds, clock, everyMs: 3_600_000, onError: (error) => void failures.push(error) }));
  const stack = opened.move();
  const ended = async () =>
    (await sql<{ id: string }[]>`select job_id as id from jobs where ended is not null order by job_id`).map(
      ({ id }) => id,
    );
  return { failures, ended, [Symbol.asyncDispose]: () => stack.disposeAsync() };
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
}, 60_000);

test("every organization gets its turn, however many have jobs that cannot go on", async () => {
  const owners = Array.from({ length: 120 }, (_, n) => `a${String(n).padStart(4, "0")}`);
  const begun = [...owners.flatMap((owner) => stuck(owner, 1)), { id: "b", owner: "b", type: "project.deleted" }];
  await using jobs = await withJobs(begun);
  await expect.poll(jobs.ended).toEqual(["b"]);
  expect(jobs.failures).toHaveLength(owners.length);
});
