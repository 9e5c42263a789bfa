import { afterAll, beforeAll, expect, test } from "vitest";
import { providerChores } from "../../src/provider/expiry.ts";
import { signingKeys } from "../../src/provider/signing_keys.ts";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { ask } from "../postgres/holder.ts";
import { type Handlers, openHandlers } from "../sent_statements.ts";
import { application, codeFor, exchange, issuerOf } from "./application.ts";

let postern: Postern;
let handlers: Handlers;
beforeAll(async () => {
  postern = await startPostern();
  handlers = openHandlers(postern);
});
afterAll(async () => {
  await handlers?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

/** Runs the chores, and counts the rows that are left. */
async function swept() {
  const { deps } = handlers;
  for (const { batch } of providerChores(deps, signingKeys({ ...deps, instanceId: "instance" }))) await batch(100);
  const tables = [
    ...["browser_sessions", "sign_ons", "authorization_codes", "sign_on_tokens", "refresh_tokens"],
    ...["session_applications", "logout_messages"],
  ];
  const counts = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`);
  const [row] = await ask(postern.databaseUrl, `select ${counts.join()}`);
  return row;
}

const past = (table: string) =>
  ask(postern.databaseUrl, `update ${table} set expiration_date = now() - interval '10 minutes'`);

test("what has expired is deleted without a word to applications, and a session stays while a refresh token came of it", async () => {
  const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
  const [app, person] = [
    await application(postern.admin, { grantTypes, backChannelLogoutUri: "https://app.invalid/logout" }),
    await signedUp(postern),
  ];
  const { code } = await codeFor(issuerOf(postern), app, person, { scope: "openid offline_access" });
  expect((await exchange(issuerOf(postern), app, code)).status).toBe(200);
  const of = { session_applications: 1, logout_messages: 0 };
  const rows = {
    browser_sessions: 1,
    sign_ons: 1,
    authorization_codes: 1,
    sign_on_tokens: 1,
    refresh_tokens: 1,
    ...of,
  };
  expect(await swept()).toEqual(rows);
  await past("sign_on_tokens");
  await past("browser_sessions");
  expect(await swept()).toEqual({ ...rows, sign_on_tokens: 0 });
  await past("sign_ons");
  expect(await swept()).toEqual(Object.fromEntries(Object.keys(rows).map((table) => [table, 0])));
});
