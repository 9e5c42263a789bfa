import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { freePort } from "../../wire/free_port.ts";
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
  signIn,
} from "../application.ts";
import { type Browser, openBrowser } from "../browser.ts";
import { loopback } from "../https_server.ts";
import { openReceiver } from "../receiver.ts";

const publicUrl = "https://id.example";
const offline = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];

let receiver: Awaited<ReturnType<typeof openReceiver>>;
let nodes: TwoNodes;
beforeAll(async () => {
  receiver = await openReceiver();
  const { outgoingCaFile } = receiver;
  nodes = await startTwoNodes({ publicUrl, outgoingPrivateNetworks: loopback, outgoingCaFile });
});
afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

let made = 0;

/** An application that learns of sign-outs at a path of the receiver. */
async function listening(path = `/out${++made}`, settings: Readonly<Record<string, unknown>> = {}) {
  const backChannelLogoutUri = path.startsWith("/") ? receiver.uri(path) : path;
  return { app: await application(nodes.one.admin, { backChannelLogoutUri, ...settings }), path };
}

/** Signs a person in at an application in a browser that may be signed in already; answers the ID token. */
async function idTokenAt(app: Application, person: Person, browser = openBrowser(nodes.one.url)) {
  const url = authorizeUrl(nodes.one.url, app);
  const isNew = !browser.cookies.has("__Host-postern-session");
  const { code = "" } = answerIn(isNew ? await signIn(browser, url, person) : await browser.open(url));
  const { status, body } = await exchange(nodes.two.url, app, code);
  expect(status).toBe(200);
  return { browser, idToken: body.id_token as string, sid: String(decodeJwt(body.id_token).sid) };
}

const signOut = (browser: Browser, hint: string, node = nodes.two) =>
  openBrowserAt(node.url, browser).open(
    `${node.url}/oauth/end-session?${new URLSearchParams({ id_token_hint: hint })}`,
  );

/** The same browser, through another node. */
function openBrowserAt(url: string, { cookies }: Browser): Browser {
  const browser = openBrowser(url);
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  return browser;
}

type Row = { readonly attempts: number; readonly failure: string | null; readonly dead: Date | null };

const messagesOf = ({ appId }: Application) =>
  ask<Row>(nodes.databaseUrl, `select attempts, failure, dead from logout_messages where app_id = '${appId}'`);

/** Waits until the messages of an application meet a condition. */
async function until(app: Application, holds: (rows: readonly Row[]) => boolean): Promise<readonly Row[]> {
  for (;;) {
    const rows = await messagesOf(app);
    if (holds(rows)) return rows;
    await pause(100);
  }
}

const settled = (app: Application) => until(app, (rows) => rows.length === 0);
const dead = (app: Application) => until(app, (rows) => rows.length > 0 && rows.every((row) => row.dead !== null));

test("each application that got tokens in the session gets a logout token, and no other", async () => {
  const person = await signedUp(nodes.one);
  const [one, two] = [
    await listening(),
    await listening("/out-es256", { idTokenAlgorithm: "OIDC_ID_TOKEN_ALGORITHM_ES256" }),
  ];
  const [unasked, silent] = [await listening(), await application(nodes.one.admin)];
  const { browser, idToken, sid } = await idTokenAt(one.app, person);
  await idTokenAt(one.app, person, browser);
  await idTokenAt(two.app, person, browser);
  await idTokenAt(silent, person, browser);
  const elsewhere = await idTokenAt(one.app, person);
  // A code that nobody exchanged gave no tokens.
  expect(answerIn(await browser.open(authorizeUrl(nodes.one.url, unasked.app))).code).toMatch(/^oc_/);
  await signOut(browser, idToken);
  await Promise.all([one.app, two.app, unasked.app, silent].map(settled));
  expect(receiver.claimsAt(one.path)).toEqual([
    {
      ...{ iss: publicUrl, aud: one.app.clientId, sub: person.userId, sid },
      ...{ iat: expect.any(Number), exp: expect.any(Number), jti: expect.any(String) },
      events: { "http://schemas.openid.net/event/backchannel-logout": {} },
    },
  ]);
  expect([receiver.claimsAt(two.path).length, receiver.claimsAt(unasked.path).length]).toEqual([1, 0]);
  expect(elsewhere.sid).not.toBe(sid);
  const keys = createRemoteJWKSet(new URL(`${nodes.one.url}/oauth/keys`));
  for (const [{ app, path }, alg] of [
    [one, "RS256"],
    [two, "ES256"],
  ] as const) {
    const { token = "", type } = receiver.received.find((received) => received.path === path) ?? {};
    expect(type).toBe("application/x-www-form-urlencoded");
    const checks = { issuer: publicUrl, audience: app.clientId, typ: "logout+jwt", algorithms: [alg] };
    const { payload } = await jwtVerify(token, keys, checks);
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(120);
  }
});

test("a logout token is no hint, and no token of anything else", async () => {
  const person = await signedUp(nodes.one);
  const { app, path } = await listening();
  const { browser, idToken } = await idTokenAt(app, person);
  await signOut(browser, idToken);
  await settled(app);
  const token = receiver.received.find((received) => received.path === path)?.token ?? "";
  const { browser: again } = await idTokenAt(app, person);
  const page = await signOut(again, token);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(pageText("sign_out_title", "en"))]);
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${nodes.one.url}/oauth/userinfo`, { headers })).status).toBe(401);
});

const done = ({ status, body }: { status: number; body: unknown }) =>
  expect([status, body]).toEqual([200, expect.anything()]);

type Held = { readonly app: Application; readonly person: Person; readonly browser: Browser; readonly sid: string };

const appPath = ({ app }: Held) => `/v1/projects/${app.projectId}/applications/${app.appId}`;

const events: Readonly<Record<string, { happens: (held: Held) => Promise<unknown>; tokens: number }>> = {
  "the session is deleted": {
    happens: async ({ sid }) => done(await nodes.two.admin.delete(`/v1/sessions/${sid}`)),
    tokens: 1,
  },
  "the user is deactivated": {
    happens: async ({ person }) => done(await nodes.one.admin.post(`/v1/users/${person.userId}:deactivate`)),
    tokens: 1,
  },
  "the user is deleted": {
    happens: async ({ person }) => done(await nodes.two.admin.delete(`/v1/users/${person.userId}`)),
    tokens: 1,
  },
  "the password is set": {
    happens: async ({ person }) =>
      done(await nodes.one.admin.put(`/v1/users/${person.userId}/password`, { newPassword: "Green-Teapot-77" })),
    tokens: 1,
  },
  "the user changes the password": {
    happens: async ({ person }) =>
      done(
        await person.client.put("/v1/users/me/password", {
          oldPassword: person.password,
          newPassword: "Green-Teapot-77",
        }),
      ),
    tokens: 1,
  },
  "the session ran out, tokens of it live, and the user is deactivated": {
    async happens({ person, sid }) {
      const past = "set expiration_date = now() - interval '1 minute'";
      await ask(nodes.databaseUrl, `update browser_sessions ${past} where session_id = '${sid}'`);
      done(await nodes.one.admin.post(`/v1/users/${person.userId}:deactivate`));
    },
    tokens: 1,
  },
  "the user is locked": {
    async happens({ person }) {
      for (let n = 0; n < 10; n++)
        await nodes.one.as().post("/v1/sessions", { loginName: person.username, password: "wrong" });
    },
    tokens: 0,
  },
  "another session of the user is deleted": {
    async happens({ person, sid }) {
      const { body } = await nodes.one.admin.get(`/v1/sessions?userId=${person.userId}`);
      for (const { id } of body.sessions) if (id !== sid) done(await nodes.one.admin.delete(`/v1/sessions/${id}`));
    },
    tokens: 0,
  },
  "the application is deactivated": {
    happens: async (held) => done(await nodes.one.admin.post(`${appPath(held)}:deactivate`)),
    tokens: 0,
  },
  "the application is deactivated, and then the session deleted": {
    async happens(held) {
      done(await nodes.one.admin.post(`${appPath(held)}:deactivate`));
      done(await nodes.one.admin.delete(`/v1/sessions/${held.sid}`));
    },
    tokens: 1,
  },
  "the application is deleted, and then the session": {
    async happens(held) {
      done(await nodes.one.admin.delete(appPath(held)));
      done(await nodes.one.admin.delete(`/v1/sessions/${held.sid}`));
    },
    tokens: 0,
  },
  "the application gives its URI up, and then the session is deleted": {
    async happens(held) {
      done(await nodes.one.admin.call("PATCH", `${appPath(held)}/oidc`, { backChannelLogoutUri: "" }));
      done(await nodes.one.admin.delete(`/v1/sessions/${held.sid}`));
    },
    tokens: 0,
  },
};

test.each(Object.keys(events))("when %s, the application gets the tokens that the table says", async (name) => {
  const { happens, tokens } = events[name] ?? expect.unreachable();
  const person = await signedUp(nodes.one);
  const { app, path } = await listening();
  const { browser, sid } = await idTokenAt(app, person);
  await happens({ app, person, browser, sid });
  await settled(app);
  expect(receiver.claimsAt(path).map((claims) => claims.sid)).toEqual(Array(tokens).fill(sid));
});

test("of an exchange of a code and the end of its session at one moment, tokens that were given are followed by a logout token", async () => {
  const person = await signedUp(nodes.one);
  const { app, path } = await listening();
  const given: unknown[] = [];
  for (let n = 0; n < 20; n++) {
    const { code } = await codeFor(nodes.one.url, app, person);
    const { body } = await nodes.one.admin.get(`/v1/sessions?userId=${person.userId}&pageSize=1`);
    const [exchanged, ended] = await Promise.all([
      exchange(nodes.two.url, app, code),
      nodes.one.admin.delete(`/v1/sessions/${body.sessions[0].id}`),
    ]);
    expect([200, 400]).toContain(exchanged.status);
    expect(ended.status).toBe(200);
    if (exchanged.status === 200) given.push(decodeJwt(exchanged.body.id_token).sid);
  }
  await settled(app);
  expect(
    receiver
      .claimsAt(path)
      .map(({ sid }) => sid)
      .sort(),
  ).toEqual(given.sort());
});

test("of a refresh and the end of its session at one moment, both are answered: the tokens are good, or there are none", async () => {
  const person = await signedUp(nodes.one);
  const { app } = await listening(undefined, { grantTypes: offline });
  for (let n = 0; n < 20; n++) {
    const { code } = await codeFor(nodes.one.url, app, person, { scope: "openid offline_access" });
    const { body } = await exchange(nodes.one.url, app, code);
    const [refreshed, ended] = await Promise.all([
      post(
        nodes.two.url,
        "/oauth/token",
        { grant_type: "refresh_token", refresh_token: body.refresh_token },
        basic(app),
      ),
      nodes.one.admin.delete(`/v1/sessions/${decodeJwt(body.id_token).sid}`),
    ]);
    expect([200, 400]).toContain(refreshed.status);
    expect(ended.status).toBe(200);
  }
});

test("many sign-outs at once, and two nodes that deliver them: each arrives once", async () => {
  const person = await signedUp(nodes.one);
  const { app, path } = await listening();
  const sids: string[] = [];
  for (let n = 0; n < 25; n++) sids.push((await idTokenAt(app, person)).sid);
  done(await nodes.two.admin.post(`/v1/users/${person.userId}:deactivate`));
  await settled(app);
  const claims = receiver.claimsAt(path);
  expect(claims.map(({ sid }) => sid).sort()).toEqual(sids.sort());
  expect(new Set(claims.map(({ jti }) => jti)).size).toBe(25);
});

test("a receiver that is down at first gets the token once it is there", async () => {
  const port = await freePort();
  const { url, outgoingCaFile } = receiver;
  const { app } = await listening(url.replace(/\d+$/, `${port}/late`));
  const { browser, idToken, sid } = await idTokenAt(app, await signedUp(nodes.one));
  await signOut(browser, idToken);
  const [waiting] = await until(app, ([row]) => (row?.attempts ?? 0) > 1 && row?.failure !== null);
  expect(waiting).toMatchObject({ failure: "it cannot be reached (ECONNREFUSED)", dead: null });
  const tokens: string[] = [];
  const server = createServer(
    { cert: await readFile(outgoingCaFile), key: await readFile(outgoingCaFile.replace("cert.pem", "key.pem")) },
    (request, response) => {
      request.on("data", (part) => tokens.push(new URLSearchParams(String(part)).get("logout_token") ?? ""));
      request.on("end", () => response.end());
    },
  );
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await settled(app);
  server.close();
  expect(tokens.map((token) => decodeJwt(token).sid)).toEqual([sid]);
});

test.each([
  ["/redirects", "it answered 302"],
  ["/refuses", "it answered 400"],
])("a receiver whose answer is %s gets no other try, and nothing follows it", async (path, failure) => {
  const { app } = await listening(path);
  const { browser, idToken } = await idTokenAt(app, await signedUp(nodes.one));
  await signOut(browser, idToken);
  expect(await dead(app)).toMatchObject([{ failure, attempts: 1 }]);
  expect([receiver.claimsAt(path).length, receiver.claimsAt("/redirected").length]).toEqual([1, 0]);
});

test.each(["/empty", "/large"])("a receiver whose answer is %s has taken it", async (path) => {
  const { app } = await listening(path);
  const { browser, idToken } = await idTokenAt(app, await signedUp(nodes.one));
  await signOut(browser, idToken);
  await settled(app);
  expect(receiver.claimsAt(path).length).toBe(1);
});

test("a receiver that never answers is left, and tried again; it takes no place from others, who get theirs meanwhile", async () => {
  const [slow, quick] = [await listening("/slow"), await listening()];
  const person = await signedUp(nodes.one);
  for (let n = 0; n < 40; n++) await idTokenAt(slow.app, person);
  const one = await idTokenAt(quick.app, person);
  await idTokenAt(slow.app, person, one.browser);
  done(await nodes.one.admin.post(`/v1/users/${person.userId}:deactivate`));
  await settled(quick.app);
  expect(receiver.claimsAt(quick.path).length).toBe(1);
  const rows = await until(slow.app, (all) => all.some(({ failure }) => failure !== null));
  expect(rows.length).toBe(41);
  expect(rows.find(({ failure }) => failure !== null)).toMatchObject({
    failure: "it did not answer in time",
    dead: null,
  });
  await ask(nodes.databaseUrl, `delete from logout_messages where app_id = '${slow.app.appId}'`);
});

test("an application that takes nothing for the time of the setting is given up", async () => {
  const { app } = await listening("/busy");
  const { browser, idToken } = await idTokenAt(app, await signedUp(nodes.one));
  await signOut(browser, idToken);
  await until(app, ([row]) => row?.failure === "it answered 503");
  await ask(nodes.databaseUrl, `update logout_messages set created = created - interval '2 hours', due = now()`);
  expect(await dead(app)).toMatchObject([{ failure: "it answered 503" }]);
  const metrics = async () => (await fetch(`${nodes.one.url}/metrics`)).text();
  await expect.poll(metrics).toMatch(/^postern_logout_dead [1-9]/m);
});

test("nothing is sent to a private address that the operator did not allow, by http, or to a URI that is reported", async () => {
  const { outgoingCaFile } = receiver;
  await using closed = await startTwoNodes({ publicUrl, outgoingCaFile });
  const before = receiver.received.length;
  const made = async (backChannelLogoutUri: string) => {
    const app = await application(closed.one.admin, { backChannelLogoutUri });
    const { code } = await codeFor(closed.one.url, app, person);
    expect((await exchange(closed.one.url, app, code)).status).toBe(200);
    return app;
  };
  const person = await signedUp(closed.one);
  const private_ = [
    receiver.uri("/a"),
    receiver.uri("/b").replace("localhost", "127.0.0.1"),
    "https://169.254.169.254/",
  ];
  for (const uri of [...private_, receiver.uri("/c").replace("https", "http"), receiver.uri("/d#f")]) await made(uri);
  done(await closed.one.admin.post(`/v1/users/${person.userId}:deactivate`));
  const left = async () =>
    (await ask<Row>(closed.databaseUrl, "select failure from logout_messages")).map(({ failure }) => failure);
  for (;;) {
    const failures = await left();
    if (failures.length === 3 && !failures.includes(null)) break;
    await pause(100);
  }
  expect(await left()).toEqual(Array(3).fill("the address is not public"));
  expect(receiver.received.length).toBe(before);
});
