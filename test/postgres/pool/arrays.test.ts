import { expect, inject, test } from "vitest";
import { arrayIn, arrayText } from "../../../src/postgres/pool/arrays.ts";
import { connect } from "../../../src/postgres/pool/connect.ts";
import { quiet } from "../embedded/holder.ts";

const open = () =>
  connect(inject("databaseUrl"), { connections: 1, waitMs: 60_000, statementTimeoutMs: 60_000, log: quiet });

const hostile = [
  ...["x", "{x}", "{}", "{", "}", "a,b", ",", '"', '""', "\\", '\\"', "\\\\", "'", "NULL", "null", ""],
  ...[
    " ",
    "  padded  ",
    "\t",
    "a\nb",
    "\r\n",
    "[1:2]={a,b}",
    "é",
    "日本",
    "🦊",
    "\u202e",
    "1",
    "t",
    "\\x00",
    "a;b",
    "$1",
  ],
];

test("each element of an array goes to the database and comes back as it is", async () => {
  await using db = open();
  const [row] = await db.sql`select ${hostile}::text[] as all, array(select unnest(${hostile}::text[])) as again`;
  expect(row).toEqual({ all: hostile, again: hostile });
  for (const one of hostile) {
    const [alone] = await db.sql`select ${[one]}::text[] as array, (${[one]}::text[])[1] as element`;
    expect(alone).toEqual({ array: [one], element: one });
  }
});

test("an element matches itself and nothing else", async () => {
  await using db = open();
  for (const one of hostile) {
    const rows = await db.sql`select v from unnest(${hostile}::text[]) v where v = any(${[one]})`;
    expect(rows.map(({ v }) => v)).toEqual([one]);
  }
});

test("an empty array matches nothing, whether its type is written or found out", async () => {
  await using db = open();
  const none: string[] = [];
  expect(await db.sql`select v from unnest(${hostile}::text[]) v where v = any(${none})`).toEqual([]);
  expect(await db.sql`select ${none}::text[] as none, array[]::text[] as empty`).toEqual([{ none: [], empty: [] }]);
});

test("arrays of other types go and come with the types of their elements", async () => {
  await using db = open();
  const [row] = await db.sql`select
    ${[1, -2]}::int4[] as ints, array[9007199254740993]::int8[] as bigs, array[true, false, null] as flags,
    array[1.5, 'NaN', '-Infinity']::float8[] as floats, array['2026-01-02 03:04:05.678+00']::timestamptz[] as times,
    array['\\x00ff'::bytea, ''] as bytes, array['a', null, 'NULL']::text[] as nulls, '[0:1]={a,b}'::text[] as shifted,
    array[['a', '{b}'], ['c,d', '"']] as nested`;
  expect(row).toEqual({
    ints: [1, -2],
    bigs: [9_007_199_254_740_993n],
    flags: [true, false, null],
    floats: [1.5, Number.NaN, Number.NEGATIVE_INFINITY],
    times: [new Date("2026-01-02T03:04:05.678Z")],
    bytes: [Buffer.from([0, 255]), Buffer.alloc(0)],
    nulls: ["a", null, "NULL"],
    shifted: ["a", "b"],
    nested: [
      ["a", "{b}"],
      ["c,d", '"'],
    ],
  });
});

test("what was written is what is read, also without a database", () => {
  for (const value of [[], hostile, ["a", null, "NULL"], [hostile, hostile], [[["{"], [","]]]])
    expect(arrayIn(arrayText(value), (text) => text)).toEqual(value);
  expect(() => arrayText(["a", undefined])).toThrow("undefined");
  for (const broken of ["", "a", "{a", "{{a}", "}"]) expect(() => arrayIn(broken)).toThrow("array");
});

test("a connection asks the database nothing of its own accord", async () => {
  await using db = open();
  const statements = await db.sql`select statement from pg_prepared_statements`;
  expect(statements.map(({ statement }) => statement)).toEqual(["select statement from pg_prepared_statements"]);
});
