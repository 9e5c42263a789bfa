import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { senderOf } from "../../../src/postgres/pool/driver.ts";
import { textOf } from "../../rules/tree.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const folder = join(dirname(createRequire(import.meta.url).resolve("postgres")), "../..");
const sourceOf = (name: string) => readFileSync(join(folder, "src", name), "utf8");

test("the version of the driver whose fields we know is the one that is installed, and no other is taken", () => {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  expect(JSON.parse(textOf("package.json")).dependencies.postgres).toBe(version);
});

// What a connection reads and writes of a statement.
const imitated = [
  ...["active", "args", "cancelled", "describeFirst", "isRaw", "options", "origin", "parameters", "parsing", "prepare"],
  ...["prepared", "reject", "resolve", "retried", "signature", "state", "statement", "string", "strings", "tagged"],
];
// Those of cursors, streams, copies and reserved connections, which no pool of ours has.
const others = [
  ...["cursorFn", "cursorName", "cursorRows", "execute", "forEachFn", "onlyDescribe", "portal", "reserve"],
];

test("a connection of the driver reads and writes just those fields of a statement that ours have", () => {
  const used = [...sourceOf("connection.js").matchAll(/\b(?:query|q)\.(?!js\b)(\w+)/g)].map(([, name = ""]) => name);
  expect([...new Set(used)].sort()).toEqual([...imitated, ...others].sort());
});

test("a statement of the driver has the fields that we replace, and its state the key of its server", async () => {
  const url = inject("databaseUrl");
  const sql = postgres(driverUrl(url), { ...clientOptions(url, log), max: 1 });
  try {
    const statement = sql`select 1 as one`;
    for (const field of ["handler", "executed", "resolve", "reject", "strings", "args", "state"])
      expect(statement).toHaveProperty(field);
    for (const method of ["execute", "cursor", "handle"])
      expect(statement).toHaveProperty(method, expect.any(Function));
    expect(senderOf(sql)).toEqual(expect.any(Function));
    const { state } = (await statement) as unknown as { readonly state: object };
    expect(state).toMatchObject({ pid: expect.any(Number), secret: expect.any(Number) });
  } finally {
    await sql.end();
  }
});
