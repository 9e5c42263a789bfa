import { afterAll, beforeAll, expect, test } from "vitest";
import { hashToken } from "../../../src/security/token.ts";
import { openClient } from "../../fixture/database_client.ts";
import { signedUp, startPostern } from "../../harness.ts";
import { ask, until } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import {
  type Application,
  application,
  basic,
  codeFor,
  exchange,
  type Person,
  post,
  verifier,
} from "../application.ts";

let nodes: TwoNodes;
let app: Application;
let person: Person;
const publicUrl = "https://id.example";
const refreshing = { grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"] };
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl });
  app = await application(nodes.one.admin, refreshing);
  person = await signedUp(nodes.one);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const offline = { scope: "openid offline_access" };
const introspected = async (token: string, node = nodes.two) =>
  (await post(node.url, "/oauth/introspect", { token }, basic(app))).body.active;
const refresh = (token: string, node = nodes.one, more: Record<string, string> = {}) =>
  post(node.url, "/oauth/token", { grant_type: "refresh_token", refresh_token: token, ...more }, basic(app));
const waiting = `select from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%sign_ons o%'`;
const ends = async () =>
  (await nodes.one.admin.get(`/v1/events?types=sign_on.ended`)).body.events.map(
    ({ fact }: { fact: { signOn: { ended: { reason: string } } } }) => fact.signOn.ended.reason,
  );

test("of ten presentations of a code at once to two nodes one succeeds, and the reuse ends what it gave", async () => {
  const { code } = await codeFor(nodes.one.url, app, person, offline);
  const all = await Promise.all(Array.from({ length: 10 }, (_, n) => exchange(nodes.through(n).url, app, code)));
  const won = all.filter(({ status }) => status === 200);
  expect(won.length).toBe(1);
  expect(
    new Set(all.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body.error}`)),
  ).toEqual(new Set(["400 invalid_grant"]));
  expect(await introspected(won[0]?.body.access_token)).toBe(false);
  expect((await refresh(won[0]?.body.refresh_token)).body.error).toBe("invalid_grant");
  expect(await ends()).toContain("SIGN_ON_END_CODE_REUSED");
});

test("a presentation that waits for its code shares the sign-in with no other, since each would wait for the other then", async () => {
  const { code } = await codeFor(nodes.one.url, app, person, offline);
  await using holder = openClient(nodes.databaseUrl);
  await using other = openClient(nodes.databaseUrl);
  const presented = await holder.client.begin(async (held) => {
    await held`select from authorization_codes for update`;
    const both = [nodes.one, nodes.two].map(({ url }) => exchange(url, app, code));
    await until(async () => (await ask(nodes.databaseUrl, waiting)).length === 2);
    const free = await other.client`
      select from sign_ons o join authorization_codes c using (sign_on_id) where c.hash = ${hashToken(code)}
      for key share of o skip locked`;
    expect(free).toHaveLength(0);
    return { both };
  });
  expect((await Promise.all(presented.both)).map(({ status }) => status).sort()).toEqual([200, 400]);
});

test("of ten presentations of a refresh token at once each gets the same successor, which is good", async () => {
  const { code } = await codeFor(nodes.one.url, app, person, offline);
  const { body } = await exchange(nodes.one.url, app, code);
  const all = await Promise.all(Array.from({ length: 10 }, (_, n) => refresh(body.refresh_token, nodes.through(n))));
  expect(all.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(new Set(all.map(({ body }) => body.refresh_token)).size).toBe(1);
  expect((await refresh(all[0]?.body.refresh_token, nodes.two)).status).toBe(200);
});

test("a refresh token that comes again after the grace ends the sign-in", async () => {
  const { code } = await codeFor(nodes.one.url, app, person, offline);
  const { body } = await exchange(nodes.one.url, app, code);
  const next = await refresh(body.refresh_token);
  await ask(nodes.databaseUrl, "update refresh_tokens set replaced = replaced - interval '11 seconds'");
  expect((await refresh(body.refresh_token, nodes.two)).body.error).toBe("invalid_grant");
  expect((await refresh(next.body.refresh_token)).body.error).toBe("invalid_grant");
  expect(await introspected(next.body.access_token)).toBe(false);
  expect(await ends()).toContain("SIGN_ON_END_REFRESH_TOKEN_REUSED");
});

test("a code is worth nothing at another client, with another URI or verifier, or without one", async () => {
  const other = await application(nodes.one.admin, refreshing);
  const { code } = await codeFor(nodes.one.url, app, person);
  const errors = [
    await exchange(nodes.one.url, other, code),
    await exchange(nodes.one.url, app, code, { redirect_uri: "https://app.example/cb2" }),
    await exchange(nodes.one.url, app, code, { code_verifier: verifier.replace("1", "2") }),
    await exchange(nodes.one.url, app, code, { code_verifier: "" }),
    await exchange(nodes.one.url, app, code, { code_verifier: "short" }),
  ];
  expect(errors.map(({ status, body }) => [status, body.error])).toEqual(Array(5).fill([400, "invalid_grant"]));
  expect((await exchange(nodes.one.url, app, code)).status).toBe(200);
});

test("a verifier without a challenge is refused", async () => {
  const { code } = await codeFor(nodes.one.url, app, person, {
    code_challenge: undefined,
    code_challenge_method: undefined,
  });
  expect((await exchange(nodes.one.url, app, code)).body.error).toBe("invalid_grant");
  expect((await exchange(nodes.one.url, app, code, { code_verifier: "" })).status).toBe(200);
});

test("a code that has expired is worth nothing", async () => {
  await using quick = await startPostern({ databaseUrl: nodes.databaseUrl, ...settingsOf(), codeLifetimeSeconds: 0 });
  const { code } = await codeFor(quick.url, app, person);
  expect((await exchange(nodes.one.url, app, code)).body.error).toBe("invalid_grant");
});

const settingsOf = () => ({
  publicUrl,
  masterKeys: nodes.one.config.masterKeys,
  adminToken: nodes.one.config.adminToken,
});

test("a refresh narrows the scope and never widens it, and a client without the grant type has no refresh token", async () => {
  const { code } = await codeFor(nodes.one.url, app, person, { scope: "openid email offline_access" });
  const { body } = await exchange(nodes.one.url, app, code);
  const narrow = await refresh(body.refresh_token, nodes.one, { scope: "openid" });
  expect(narrow.body.scope).toBe("openid");
  const wide = await refresh(narrow.body.refresh_token, nodes.one, { scope: "openid profile" });
  expect([wide.status, wide.body.error]).toEqual([400, "invalid_scope"]);
  const plain = await application(nodes.one.admin);
  const given = await exchange(nodes.one.url, plain, (await codeFor(nodes.one.url, plain, person, offline)).code);
  expect(given.body).not.toHaveProperty("refresh_token");
});
