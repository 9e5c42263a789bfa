import { afterAll, beforeAll, describe, expect, test } from "vitest";
import recorded from "./raw_answers.json" with { type: "json" };
import { differences } from "./raw_differences.ts";
import { converse, openRaw, type RawServer } from "./raw_server.ts";
import { rawTable } from "./raw_table.ts";

const record: Readonly<Record<string, readonly string[] | undefined>> = recorded;
const expected = (name: string) => differences[name]?.received ?? record[name];
const rows = Object.entries(rawTable);
const withoutLimits = rows.filter(([, { limits }]) => limits === undefined);
const withLimits = rows.filter(([, { limits }]) => limits !== undefined);

test("every conversation of the table has its record, and no other", () => {
  expect(Object.keys(record)).toEqual(Object.keys(rawTable));
});

test("what differs from the record has a reason, and differs", () => {
  for (const [name, { reason, received }] of Object.entries(differences)) {
    expect(reason, name).not.toBe("");
    expect(record[name], name).toBeDefined();
    expect(received, name).not.toEqual(record[name]);
  }
});

describe.each(["clear text", "TLS"] as const)("over %s", (way) => {
  let server: RawServer;
  beforeAll(async () => {
    server = await openRaw(way);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each(withoutLimits)("%s is answered as it was, or as the differences say", async (name, row) => {
    expect(await converse(server, row)).toEqual(expected(name));
  });

  // They wait for a timeout, all of them together.
  test.concurrent.each(withLimits)("%s is answered as it was", async (name, row) => {
    await using own = await openRaw(way, row.limits);
    expect(await converse(own, row)).toEqual(expected(name));
  });
});
