import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../../src/config/logger.ts";
import { howToBegin } from "../../src/maintenance/first_calls.ts";
import { clientOptions, driverUrl } from "../../src/postgres/pool/connect.ts";
import { openRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { type Answer, machine, type Postern, startPostern } from "../harness.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let postern: Postern;
let runtime: Runtime;
let sql: postgres.Sql;
beforeAll(async () => {
  postern = await startPostern();
  runtime = await openRuntime(postern.config, { logger: createLogger(postern.config), join: true });
  sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, log), max: 1 });
});
afterAll(async () => {
  await sql?.end();
  await runtime?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const lines = (adminToken = postern.config.adminToken) =>
  howToBegin(runtime, { ...postern.config, adminToken }, { url: postern.url, curl: [] });
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

const isCall = (text: string) => /^# \d\. [^:]+\ncurl /.test(text);

test("without wrong passwords all four are labelled calls of short lines, after the line that asks for the new password", async () => {
  const [asking, ...calls] = await lines();
  expect(asking).toMatch(/^# First choose the administrator's new password: .*\n.* read -r NEW_PASSWORD;/);
  expect([calls.length, calls.filter(isCall)]).toEqual([4, calls]);
  expect(
    calls
      .join("\n")
      .split("\n")
      .filter((line) => line.length > 100),
  ).toEqual([]);
});

test("while too many wrong passwords keep the password from being changed, the line says so", async () => {
  const { adminId, admin } = postern;
  for (let guess = 0; guess < 10; guess++)
    await admin.put("/v1/users/me/password", { oldPassword: "Wrong-Kettle-42", newPassword: "Green-Teapot-43" });
  const [password, ...others] = await lines();
  expect(password).toMatch(
    /^# 1\. Change the administrator's password to \$NEW_PASSWORD: after wrong passwords, it cannot be changed before 20\S+; to set \$NEW_PASSWORD:\n# curl /,
  );
  expect(others.filter(isCall)).toEqual(others);
  await sql`delete from password_change_attempts where user_id = ${adminId}`;
  expect((await lines())[1]).toMatch(/^# 1\..*\ncurl /);
});

test("a token of somebody without permissions, of a machine, or deactivated leads to no call that is refused", async () => {
  const { userId, client } = await machine(postern);
  expect(await lines(client.token)).toEqual([
    expect.stringMatching(/^# 1\. .*: a machine user has no password to change$/),
    expect.stringMatching(/^# 2\. .*: the user of the token lacks the permission app.write$/),
    expect.stringMatching(/^# 3\. .*: a machine user has no phone$/),
    expect.stringMatching(/^# 4\. .*: the user of the token lacks the permission user.grant.write$/),
  ]);
  done(await postern.admin.post(`/v1/users/${userId}:deactivate`));
  expect(await lines(client.token)).toEqual([
    "# the user of POSTERN_ADMIN_TOKEN is deactivated: use an administrator's token, or create one with `postern recover`",
  ]);
});
