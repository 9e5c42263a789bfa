import { afterAll, beforeAll, expect, test } from "vitest";
import { refreshing } from "../../fixture/connection.ts";
import { signedUp } from "../../harness.ts";
import { openProbe, type Probe } from "../../probe.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  type Person,
  post,
} from "../application.ts";
import { done } from "../holding.ts";

const offline = { scope: "openid offline_access" };

let nodes: TwoNodes;
let probe: Probe;
let app: Application;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  probe = openProbe(nodes.databaseUrl);
  app = await application(nodes.one.admin, refreshing);
});
afterAll(async () => {
  await probe?.[Symbol.asyncDispose]();
  await nodes?.[Symbol.asyncDispose]();
});

const refreshed = (refresh_token: string, at = nodes.two.url) =>
  post(at, "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(app));

type SessionOf = { readonly id: string };
const sessionsOf = async ({ userId }: Pick<Person, "userId">): Promise<readonly SessionOf[]> =>
  done(await nodes.one.admin.get(`/v1/sessions?userId=${userId}&pageSize=1000`)).sessions;

test("a code that is exchanged while its session is signed out gives tokens that last, or none", async () => {
  const person = await signedUp(nodes.one);
  const given: string[] = [];
  for (let n = 0; n < 40; n++) {
    const { code } = await codeFor(nodes.one.url, app, person, offline);
    const [session] = await sessionsOf(person);
    const [{ status, body }, ended] = await Promise.all([
      exchange(nodes.two.url, app, code),
      nodes.one.admin.delete(`/v1/sessions/${session?.id}`),
    ]);
    expect([200, 400]).toContain(status);
    expect(ended.status).toBe(200);
    if (status === 200) given.push(body.refresh_token);
  }
  for (const token of given) expect((await refreshed(token)).status).toBe(200);
  const rows = await probe.sql`select from sign_ons where user_id = ${person.userId}`;
  expect(rows.length).toBe(given.length);
});

test("a request that signs in while the session is signed out gets nothing that lasts without a refresh token", async () => {
  const person = await signedUp(nodes.one);
  for (let n = 0; n < 40; n++) {
    const { browser, code } = await codeFor(nodes.one.url, app, person, offline);
    expect((await exchange(nodes.two.url, app, code)).status).toBe(200);
    const [session] = await sessionsOf(person);
    const [again] = await Promise.all([
      browser.open(authorizeUrl(nodes.one.url, app, { prompt: "none" })),
      nodes.two.admin.delete(`/v1/sessions/${session?.id}`),
    ]);
    const { code: second } = answerIn(again);
    if (second) expect((await exchange(nodes.two.url, app, second)).status).toBe(400);
  }
  const left = await probe.sql`
    select from sign_ons o where o.user_id = ${person.userId}
      and not exists (select from refresh_tokens r where r.sign_on_id = o.sign_on_id)`;
  expect(left.length).toBe(0);
});

test("of a user's refresh tokens at an application the oldest ends when the 101st comes, and those elsewhere go on", async () => {
  const person = await signedUp(nodes.one);
  const other = await application(nodes.one.admin, refreshing);
  const { browser, code } = await codeFor(nodes.one.url, other, person, offline);
  const elsewhere = (await exchange(nodes.one.url, other, code)).body.refresh_token;
  const tokens: string[] = [];
  for (let n = 0; n < 101; n++) {
    const { code = "" } = answerIn(await browser.open(authorizeUrl(nodes.one.url, app, offline)));
    tokens.push(done(await exchange(nodes.through(n).url, app, code)).refresh_token);
  }
  const [first = "", second = ""] = tokens;
  expect((await refreshed(first)).body.error).toBe("invalid_grant");
  for (const token of [second, tokens.at(-1) ?? ""]) expect((await refreshed(token)).status).toBe(200);
  const form = { grant_type: "refresh_token", refresh_token: elsewhere };
  expect((await post(nodes.two.url, "/oauth/token", form, basic(other))).status).toBe(200);
  const ends = await probe.sql<{ payload: object }[]>`
    select payload from events where type = 'sign_on.ended' and payload->>'userId' = ${person.userId}`;
  expect(ends).toEqual([{ payload: expect.objectContaining({ appId: app.appId, reason: "SIGN_ON_END_TOO_MANY" }) }]);
});

/** Gives a user sessions that began before those that it has. */
const withSessions = (userId: string, count: number) => probe.sql`
  insert into sessions (owner, session_id, user_id, expiration_date, amr, enrolment_only, version, created, changed)
  select u.owner, '0-' || u.user_id || lpad(n::text, 6, '0'), u.user_id, now() + interval '1 day', '{pwd}', false, 1, now(), now()
  from users u, generate_series(1, ${count}::int) n where u.user_id = ${userId}`;

test("a user has 1,000 sessions at most: the oldest is signed out when one more begins, ten at once too", async () => {
  const person = await signedUp(nodes.one);
  const { userId, username: loginName, password } = person;
  const { code, browser } = await codeFor(nodes.one.url, app, person, offline);
  const { refresh_token } = done(await exchange(nodes.one.url, app, code));
  const bare = await exchange(
    nodes.one.url,
    app,
    answerIn(await browser.open(authorizeUrl(nodes.one.url, app))).code ?? "",
  );
  const [session] = await sessionsOf(person);
  const oldest = `0-${userId}`;
  await withSessions(userId, 998);
  // The session of the browser becomes the oldest.
  for (const table of ["sessions", "session_applications"])
    await probe.sql`update ${probe.sql(table)} set session_id = ${oldest} where session_id = ${session?.id ?? ""}`;
  await probe.sql`insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
    select ${oldest}, owner, user_id, sha256(hash), auth_time, methods, idle_date, expiration_date
    from browser_sessions where session_id = ${session?.id ?? ""}`;
  await probe.sql`update sign_ons set session_id = ${oldest} where session_id = ${session?.id ?? ""}`;
  expect(await sessionsOf(person)).toHaveLength(1_000);
  const introspect = async () =>
    (await post(nodes.two.url, "/oauth/introspect", { token: bare.body.access_token }, basic(app))).body.active;
  expect(await introspect()).toBe(true);
  done(await nodes.one.as().post("/v1/sessions", { loginName, password }));
  const after = await sessionsOf(person);
  expect([after.length, after.some(({ id }) => id === oldest)]).toEqual([1_000, false]);
  expect([await introspect(), (await refreshed(refresh_token)).status]).toEqual([false, 200]);
  const ended = await probe.sql<{ payload: object }[]>`select payload from events where stream = ${oldest}`;
  expect(ended).toEqual([{ payload: { userId, keepsOffline: true } }]);
  const ten = await Promise.all(
    Array.from({ length: 10 }, (_, n) => nodes.through(n).as().post("/v1/sessions", { loginName, password })),
  );
  for (const one of ten) expect((await nodes.two.as(done(one).token).get("/v1/users/me")).status).toBe(200);
  const [{ count } = { count: 0 }] = await probe.sql<{ count: number }[]>`
    select count(*)::int as count from sessions where user_id = ${userId}`;
  expect(count).toBe(1_000);
});
