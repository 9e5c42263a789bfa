import { once } from "node:events";
import postgres from "postgres";
import { expect, test } from "vitest";
import { clientOptions, driverUrl } from "../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../database.ts";
import { ask, quiet, until } from "../postgres/embedded/holder.ts";
import { serve } from "../postgres/serving.ts";
import { freePort } from "../wire/free_port.ts";

test("an error that nothing handles is written down, ends calls as unavailable, and ends the process with a code", async () => {
  await using at = await freshDatabase();
  await using postern = await serve(at.url, { SHUTDOWN_GRACE_MS: "60000" });
  const gate = postgres(driverUrl(at.url), { ...clientOptions(at.url, quiet), max: 1 });
  await gate.unsafe("begin; lock table projects in access exclusive mode");
  const running = Array.from({ length: 40 }, () => postern.admin.get("/v1/projects"));
  await until(async () => {
    const blocked = await ask(
      at.url,
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return blocked.length > 0;
  });
  const exited = once(postern.child, "close");
  postern.child.kill("SIGUSR2");
  // On a busy machine some of the calls are not there yet when the server stops accepting.
  const settled = await Promise.allSettled(running);
  const answers = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(answers.length).toBeGreaterThan(0);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  for (const { body } of answers) expect(["UNAVAILABLE", "OUTCOME_UNKNOWN"]).toContain(body.details[0].reason);
  expect(await exited).toEqual([1, null]);
  const [line, ...more] = postern.lines.filter(({ level }) => level === 60);
  expect(more).toEqual([]);
  expect(line).toMatchObject({
    err: { message: "a promise that nobody handles", stack: expect.stringContaining("fault.ts") },
  });
  await expect(fetch(`${postern.url}/healthz`)).rejects.toThrow();
  await gate.end();
});

test("the reason is written also where the log is silent", async () => {
  await using at = await freshDatabase();
  await using postern = await serve(at.url, { LOG_LEVEL: "silent", PORT: String(await freePort()) });
  const exited = once(postern.child, "close");
  postern.child.kill("SIGUSR2");
  expect(await exited).toEqual([1, null]);
  expect(postern.errors()).toMatch(/^postern: Error: a promise that nobody handles\n {4}at /);
  expect(postern.lines.filter(({ level }) => level !== undefined)).toEqual([]);
});
