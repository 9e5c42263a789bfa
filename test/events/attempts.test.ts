import { expect, test } from "vitest";
import { newId } from "../../src/deps.ts";
import { type About, attemptsOf } from "../../src/events/attempts.ts";
import type { CommandOrigin } from "../../src/events/log.ts";
import { openTestLog, somebody } from "./log_of.ts";

type Row = { readonly type: string; readonly payload: { readonly counts?: readonly object[] } };

/** Attempts of the instance `top`, and a way to note some. */
async function openAttempts() {
  const opened = await openTestLog();
  const attempts = attemptsOf<CommandOrigin>({
    ...{ log: opened.log, sql: opened.sql, clock: () => new Date(), ids: newId, instanceId: "top" },
    keep: (call) => call,
    own: () => somebody(),
  });
  const note = (about: About, userAgent: string) =>
    attempts.note({ case: "codeRefused", value: {} }, about, somebody({ from: { userAgent } }));
  const written = async () =>
    [...(await opened.sql<Row[]>`select type, payload from events order by position`)].map(({ type, payload }) => [
      type,
      payload.counts ?? [],
    ]);
  return { ...attempts, note, written, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

test("an event that the database does not take counts instead, and keeps no other from being written", async () => {
  await using attempts = await openAttempts();
  // No JSON of PostgreSQL has this character.
  for (const userAgent of ["fine", "\0", "also fine"]) attempts.note({ owner: "acme", id: "ada" }, userAgent);
  await expect(attempts.write(true)).rejects.toMatchObject({ code: "22P05" });
  const one = ["attempt.code_refused", []];
  const more = ["attempt.more", [{ type: "attempt.code_refused", count: "1" }]];
  expect(await attempts.written()).toEqual([one, one, more]);
  await attempts.write(true);
  attempts.note(undefined, "later");
  await attempts.write();
  expect(await attempts.written()).toEqual([one, one, more, one]);
});
