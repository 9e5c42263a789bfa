import { afterAll, beforeAll, expect, test } from "vitest";
import { providerChores } from "../../src/provider/chores.ts";
import { signingKeys } from "../../src/provider/tokens/signing_keys.ts";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { type Handlers, openHandlers } from "../sent_statements.ts";
import { type Application, application, basic, codeFor, exchange, issuerOf, post } from "./application.ts";

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
  // It is looked at again a day later, or when a sign-in to an application ends.
  const looked = "select count(*)::int from browser_sessions where kept_until > now() + interval '23 hours'";
  expect(await ask(postern.databaseUrl, looked)).toEqual([{ count: 1 }]);
  await past("sign_ons");
  expect(await swept()).toEqual(Object.fromEntries(Object.keys(rows).map((table) => [table, 0])));
});

const refreshing = {
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
};

test("a session that was kept for a refresh token is deleted once that is revoked", async () => {
  const [app, person] = [await application(postern.admin, refreshing), await signedUp(postern)];
  const { code } = await codeFor(issuerOf(postern), app, person, { scope: "openid offline_access" });
  const { refresh_token } = (await exchange(issuerOf(postern), app, code)).body;
  const sessions = async () => {
    await swept();
    const of = `select count(*)::int from browser_sessions where user_id = '${person.userId}'`;
    return (await ask<{ count: number }>(postern.databaseUrl, of))[0]?.count;
  };
  await past("browser_sessions");
  expect(await sessions()).toBe(1);
  const revoked = await post(issuerOf(postern), "/oauth/revoke", { token: refresh_token }, basic(app));
  expect([revoked.status, await sessions()]).toEqual([200, 0]);
});

/** The refresh tokens of a sign-in that was refreshed twice a while ago: those that were replaced, and the current one. */
async function family(app: Application) {
  const { code } = await codeFor(issuerOf(postern), app, await signedUp(postern), { scope: "openid offline_access" });
  const first: string = (await exchange(issuerOf(postern), app, code)).body.refresh_token;
  const second: string = (await refresh(app, first)).body.refresh_token;
  const current: string = (await refresh(app, second)).body.refresh_token;
  await ask(postern.databaseUrl, "update refresh_tokens set replaced = replaced - interval '10 minutes'");
  return { first, second, current };
}

const refresh = (app: Application, refresh_token: string) =>
  post(issuerOf(postern), "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(app));

/** How many rows there are of the sign-ins to an application. */
async function rowsOf({ appId }: Application) {
  const [row] = await ask(
    postern.databaseUrl,
    `select count(*)::int from refresh_tokens r join sign_ons o using (sign_on_id) where o.app_id = '${appId}'`,
  );
  return row && "count" in row ? row.count : undefined;
}

/** The end of the one sign-in to an application, as the log has it. */
const endAt = async ({ appId }: Application) => {
  const { events } = (await postern.admin.get("/v1/events?types=sign_on.ended&pageSize=1000")).body;
  return events.map(({ fact }: { fact: EndFact }) => fact.signOn.ended).find((ended: End) => ended.appId === appId);
};

type End = { readonly appId: string };
type EndFact = { readonly signOn: { readonly ended: End } };

test("who ends all other sessions ends the refresh tokens of those that have run out, too", async () => {
  const [app, person] = [await application(postern.admin, refreshing), await signedUp(postern)];
  const { code } = await codeFor(issuerOf(postern), app, person, { scope: "openid offline_access" });
  const { refresh_token } = (await exchange(issuerOf(postern), app, code)).body;
  const theirs = `delete from sessions s using browser_sessions b
    where b.session_id = s.session_id and b.user_id = '${person.userId}'`;
  await ask(postern.databaseUrl, theirs);
  await past("browser_sessions");
  const next = await refresh(app, refresh_token);
  expect(next.status).toBe(200);
  const { status, body } = await person.client.delete("/v1/users/me/sessions");
  expect([status, body.ended ?? 0]).toEqual([200, 0]);
  expect((await refresh(app, next.body.refresh_token)).body.error).toBe("invalid_grant");
  expect(await endAt(app)).toMatchObject({ appId: app.appId, reason: "SIGN_ON_END_SESSIONS_ENDED" });
});

test("of a sign-in that is refreshed one refresh token is kept, and one that was replaced before ends it all the same", async () => {
  const app = await application(postern.admin, refreshing);
  const { first, current } = await family(app);
  expect(await rowsOf(app)).toBe(3);
  await swept();
  expect(await rowsOf(app)).toBe(1);
  const next = await refresh(app, current);
  expect(next.status).toBe(200);
  expect((await refresh(app, first)).body.error).toBe("invalid_grant");
  expect((await refresh(app, next.body.refresh_token)).body.error).toBe("invalid_grant");
  expect(await rowsOf(app)).toBe(0);
  expect(await endAt(app)).toMatchObject({ appId: app.appId, reason: "SIGN_ON_END_REFRESH_TOKEN_REUSED" });
});

test("a refresh token whose row is gone is of no use to another client, and its own can still revoke by it", async () => {
  const [app, other] = [await application(postern.admin, refreshing), await application(postern.admin, refreshing)];
  const { first, second, current } = await family(app);
  await swept();
  expect((await refresh(other, second)).body.error).toBe("invalid_grant");
  expect((await post(issuerOf(postern), "/oauth/revoke", { token: second }, basic(other))).status).toBe(400);
  // One of the same form and of no sign-in.
  const made = `${first.slice(0, -1)}${first.endsWith("a") ? "b" : "a"}`.replace(/^or_.../, "or_000");
  expect((await refresh(app, made)).body.error).toBe("invalid_grant");
  const next = await refresh(app, current);
  expect(next.status).toBe(200);
  expect((await post(issuerOf(postern), "/oauth/revoke", { token: second }, basic(app))).status).toBe(200);
  expect((await refresh(app, next.body.refresh_token)).body.error).toBe("invalid_grant");
});

test("a refresh token that was replaced a moment ago stays, and so do those of an earlier release", async () => {
  const app = await application(postern.admin, refreshing);
  const { current } = await family(app);
  await ask(postern.databaseUrl, "update refresh_tokens set in_family = false");
  const { refresh_token } = (await refresh(app, current)).body;
  await swept();
  expect(await rowsOf(app)).toBe(4);
  expect((await refresh(app, current)).body.refresh_token).toBe(refresh_token);
});
