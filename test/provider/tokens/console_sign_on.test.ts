import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { hashToken } from "../../../src/security/token.ts";
import { type Answer, type Client, organization, signedUp } from "../../harness.ts";
import { openProbe } from "../../probe.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  exchange,
  type Person,
  post,
  signIn,
  verifier,
} from "../application.ts";
import { hiddenIn, openBrowser, type Shown } from "../browser.ts";
import { atConsole, consoleId, consoleUrl, exchangeOf, renewed } from "../console.ts";
import { done } from "../holding.ts";

const issuer = "https://id.example";
let nodes: TwoNodes;
let node: string;
let person: Person;
let owner: Person;
let app: Application;
beforeAll(async () => {
  // Callers stay cached for long, so that only facts can end them in time.
  nodes = await startTwoNodes({ publicUrl: issuer, cacheSeconds: 60 });
  node = nodes.one.url;
  person = await signedUp(nodes.one);
  owner = await ownerOf(nodes.one.organizationId);
  app = await application(nodes.one.admin);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

/** A person who owns an organization. */
async function ownerOf(organizationId: string): Promise<Person> {
  const one = await signedUp(nodes.one, { organizationId });
  const header = { "x-service-orgid": organizationId };
  done(await nodes.one.admin.post("/v1/members", { userId: one.userId, roles: ["ORG_OWNER"] }, header));
  return one;
}

const reasonOf = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const titleOf = ({ status, text }: Shown) => [status, /<h1>([^<]*)/.exec(text)?.[1]];

describe("the sign-in", () => {
  test("gives the page a code, and for it one opaque token of ten minutes with its user's roles, and no other token", async () => {
    const browser = openBrowser(node);
    const shown = await signIn(browser, consoleUrl(node, issuer), owner);
    const { code = "", ...rest } = answerIn(shown);
    expect(rest).toEqual({ state: "s1", iss: issuer });
    const { status, body, headers } = await exchangeOf(node, issuer, code);
    const token = expect.stringMatching(/^cn_[0-9A-Za-z]{33}$/);
    expect([status, body]).toEqual([200, { access_token: token, token_type: "Bearer", expires_in: 600 }]);
    expect(headers.get("cache-control")).toBe("no-store");
    const client = nodes.two.as(body.access_token);
    expect(done(await client.get("/v1/users/me")).user.id).toBe(owner.userId);
    done(await client.get("/v1/users"));
    done(await client.post("/v1/projects", { name: `Of the console ${code.slice(-6)}` }));
    expect(reasonOf(await client.post("/v1/organizations", { name: "Mine" }))).toEqual([403, "PERMISSION_DENIED"]);
  });

  test("goes on without a page where the browser is signed in, for the account that login_hint names, and asks for no consent", async () => {
    const { browser } = await atConsole(node, issuer, person);
    const { code = "", state } = await renewed(browser, node, issuer);
    expect(state).toBe("s1");
    expect((await exchangeOf(node, issuer, code)).status).toBe(200);
    const named = { login_hint: `${person.username}@${nodes.one.organizationId}` };
    const page = await browser.open(consoleUrl(node, issuer, { prompt: "login", login_hint: owner.username }));
    await browser.submit(page, { login_name: owner.username, password: owner.password });
    expect((await renewed(browser, node, issuer)).error).toBe("account_selection_required");
    const ofHint = await exchangeOf(node, issuer, (await renewed(browser, node, issuer, named)).code ?? "");
    expect(done(await nodes.one.as(ofHint.body.access_token).get("/v1/users/me")).user.id).toBe(person.userId);
    expect((await renewed(browser, node, issuer, { login_hint: "nobody" })).error).toBe("login_required");
    expect((await renewed(openBrowser(node), node, issuer)).error).toBe("login_required");
    const other = await ownerOf(await organization(nodes.one));
    const foreign = await atConsole(node, issuer, { ...other, username: `${other.username}` });
    expect(foreign.token).toMatch(/^cn_/);
  });

  test("a browser session has a hundred codes and tokens at most, and the next one ends the oldest", async () => {
    const { browser, token } = await atConsole(node, issuer, await signedUp(nodes.one));
    await using probe = openProbe(nodes.databaseUrl);
    const many = async () =>
      (
        await probe.sql`
          select count(*)::int as many from console_sign_ons where session_id in (
            select session_id from console_sign_ons where token_hash = ${hashToken(token)})`
      )[0]?.many;
    await probe.sql`
      insert into console_sign_ons (code_hash, session_id, challenge, code_expiration_date, expiration_date)
      select sha256(c.code_hash || n::text::bytea), session_id, challenge, code_expiration_date, expiration_date + interval '1 second'
      from console_sign_ons c, generate_series(1, 98) n where token_hash = ${hashToken(token)}`;
    expect(await many()).toBe(99);
    const { code: kept = "" } = await renewed(browser, node, issuer);
    expect(await many()).toBe(100);
    const { code: last = "" } = await renewed(browser, node, issuer);
    // The token was first to expire.
    expect(await many()).toBe(0);
    for (const code of [kept, last]) expect((await exchangeOf(node, issuer, code)).status).toBe(200);
  });

  test("an open page that renews by itself does not keep the session from ending unused", async () => {
    const someone = await signedUp(nodes.one);
    const { browser } = await atConsole(node, issuer, someone);
    await using probe = openProbe(nodes.databaseUrl);
    const inAnHour = new Date(Date.now() + 3_600_000);
    await probe.sql`update browser_sessions set idle_date = ${inAnHour} where user_id = ${someone.userId}`;
    const idle = async () =>
      (await probe.sql`select idle_date from browser_sessions where user_id = ${someone.userId}`)[0]?.idle_date;
    expect((await renewed(browser, node, issuer)).code).toBeDefined();
    expect(await idle()).toEqual(inAnHour);
    expect(answerIn(await browser.open(consoleUrl(node, issuer))).code).toBeDefined();
    expect((await idle()).getTime()).toBeGreaterThan(inAnHour.getTime());
  });

  test("the token of a sign-in that a max_age asked for counts as fresh, and one of a session from before does not", async () => {
    const someone = await ownerOf(nodes.one.organizationId);
    const { browser, token } = await atConsole(node, issuer, someone);
    const machine = await nodes.one.admin.post("/v1/users/machine", { username: `m-${token.slice(-6)}`, name: "M" });
    const act = (of: string) => nodes.one.as(of).post(`/v1/users/${machine.body.userId}:erase`);
    await using probe = openProbe(nodes.databaseUrl);
    await probe.sql`update sessions set created = created - interval '1 hour' where user_id = ${someone.userId}`;
    await probe.sql`update browser_sessions set auth_time = auth_time - interval '1 hour' where user_id = ${someone.userId}`;
    expect(reasonOf(await act(token))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
    expect((await renewed(browser, node, issuer, { max_age: "600" })).error).toBe("login_required");
    const again = await signIn(browser, consoleUrl(node, issuer, { max_age: "600" }), someone);
    const { body } = await exchangeOf(node, issuer, answerIn(again).code ?? "");
    expect((await act(body.access_token)).status).toBe(200);
  });
});

describe("attacks on the request", () => {
  test.each([
    ["https://evil.example/console/"],
    [`${issuer}/console`],
    [`${issuer}/console/?x=1`],
    [`${issuer}/console/../account`],
    [`${issuer}.evil.example/console/`],
    ["http://id.example/console/"],
    ["/console/"],
    [""],
  ])("nobody is sent to %s", async (redirect_uri) => {
    const shown = await openBrowser(node).open(consoleUrl(node, issuer, { redirect_uri }));
    expect([shown.status, shown.headers.get("location")]).toEqual([400, null]);
  });

  test.each([
    ["invalid_request", { state: undefined }],
    ["invalid_request", { code_challenge: undefined, code_challenge_method: undefined }],
    ["invalid_request", { code_challenge_method: "plain" }],
    ["invalid_request", { response_mode: "form_post" }],
    ["invalid_request", { response_mode: "fragment" }],
    ["invalid_target", { resource: issuer }],
    ["unauthorized_client", { response_type: "id_token", nonce: "n1" }],
    ["unauthorized_client", { response_type: "id_token token", nonce: "n1" }],
  ] as const)("%s where the request is not as the console sends it: %o", async (error, more) => {
    const { browser } = await atConsole(node, issuer, person);
    const sent = await browser.send(consoleUrl(node, issuer, more));
    const { search, hash } = new URL(sent.headers.get("location") ?? issuer);
    const inForm = hiddenIn(sent.text).error;
    expect(inForm ?? new URLSearchParams(search || hash.slice(1)).get("error")).toBe(error);
    expect(sent.text + sent.headers.get("location")).not.toContain("oc_");
  });

  test("no application can have the client id, and neither a secret nor a key makes anybody the console", async () => {
    expect(app.clientId).not.toContain(" ");
    const { code } = await atConsole(node, issuer, person);
    const form = {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: `${issuer}/console/`,
    };
    for (const headers of [
      basic({ clientId: consoleId, clientSecret: "" }),
      basic({ clientId: consoleId, clientSecret: "x" }),
    ])
      expect((await post(node, "/oauth/token", form, headers)).body.error).toBe("invalid_client");
    const wrong = { ...form, client_id: consoleId, client_secret: "x" };
    expect((await post(node, "/oauth/token", wrong)).body.error).toBe("invalid_client");
  });

  test("another origin reads neither the answer of authorize nor a token, with or without cookies", async () => {
    const { browser } = await atConsole(node, issuer, person);
    const cross = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    const silent = await browser.send(consoleUrl(node, issuer, { prompt: "none" }), { headers: cross });
    expect([silent.status, silent.headers.get("access-control-allow-origin")]).toEqual([303, null]);
    const code = new URL(silent.headers.get("location") ?? "").searchParams.get("code") ?? "";
    const form = new URLSearchParams({
      ...{ grant_type: "authorization_code", client_id: consoleId, redirect_uri: `${issuer}/console/` },
      ...{ code, code_verifier: verifier },
    });
    const response = await fetch(`${node}/oauth/token`, { method: "POST", body: form, headers: cross });
    for (const name of ["access-control-allow-origin", "access-control-allow-credentials"])
      expect(response.headers.get(name)).toBe(null);
    const { access_token } = (await response.json()) as { access_token: string };
    const call = await fetch(`${node}/v1/users/me`, { headers: { ...cross, authorization: `Bearer ${access_token}` } });
    expect([call.status, call.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });

  test("cookies call nothing, and the pages of the sign-in are in no frame", async () => {
    const { browser } = await atConsole(node, issuer, owner);
    expect((await browser.send(`${node}/v1/users/me`)).status).toBe(401);
    const page = await openBrowser(node).open(consoleUrl(node, issuer));
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
  });
});

describe("attacks on the code", () => {
  const codeOf = async () =>
    answerIn(await signIn(openBrowser(node), consoleUrl(node, issuer), person)).code ?? expect.unreachable();

  test("it is worth nothing without the verifier, at another URI, to an application, or a second time, which ends its token", async () => {
    const code = await codeOf();
    const errorOf = async (more: Readonly<Record<string, string>>) =>
      (await exchangeOf(node, issuer, code, more)).body.error;
    expect(await errorOf({ code_verifier: "x".repeat(43) })).toBe("invalid_grant");
    expect(await errorOf({ code_verifier: "" })).toBe("invalid_grant");
    expect(await errorOf({ redirect_uri: `${issuer}/console` })).toBe("invalid_grant");
    expect(await errorOf({ code: `${code.slice(0, -1)}_` })).toBe("invalid_grant");
    const byApplication = await exchange(node, app, code, { redirect_uri: `${issuer}/console/` });
    expect(byApplication.body.error).toBe("invalid_grant");
    const { access_token } = done(await exchangeOf(node, issuer, code));
    const both = [nodes.one, nodes.two].map((of) => of.as(access_token));
    for (const client of both) done(await client.get("/v1/users/me"));
    expect(await errorOf({})).toBe("invalid_grant");
    // Both nodes have just seen the token.
    for (const client of both) expect(reasonOf(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  });

  test("a code of an application is none of the console, which has no other grant", async () => {
    const browser = openBrowser(node);
    const { code = "" } = answerIn(await signIn(browser, authorizeUrl(node, app), person));
    expect((await exchangeOf(node, issuer, code)).body.error).toBe("invalid_grant");
    const errorOf = async (grant_type: string, more: Readonly<Record<string, string>> = {}) =>
      (await exchangeOf(node, issuer, code, { grant_type, ...more })).body.error;
    expect(await errorOf("refresh_token", { refresh_token: "or_x" })).toBe("unauthorized_client");
    expect(await errorOf("urn:ietf:params:oauth:grant-type:device_code")).toBe("unauthorized_client");
    expect(await errorOf("urn:ietf:params:oauth:grant-type:token-exchange")).toBe("unauthorized_client");
    expect(await errorOf("client_credentials")).toBe("unauthorized_client");
  });

  test("of twenty exchanges at once, on two nodes, at most one gives a token", async () => {
    const code = await codeOf();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => exchangeOf(nodes.through(nth).url, issuer, code)),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  test("it expires, and ends with the session", async () => {
    const code = await codeOf();
    await using probe = openProbe(nodes.databaseUrl);
    await probe.sql`update console_sign_ons set code_expiration_date = now() where token_hash is null`;
    expect((await exchangeOf(node, issuer, code)).body.error).toBe("invalid_grant");
    const browser = openBrowser(node);
    const late = answerIn(await signIn(browser, consoleUrl(node, issuer), person)).code ?? "";
    await signOut(browser);
    expect((await exchangeOf(node, issuer, late)).body.error).toBe("invalid_grant");
  });
});

/** Signs the current account of a browser out by the form. */
async function signOut(browser: ReturnType<typeof openBrowser>) {
  const page = await browser.open(`${node}/oauth/end-session`);
  return browser.submit(page, {}, "sign_out");
}

describe("attacks on the token", () => {
  test("it is nothing at userinfo, introspection, revocation and the token endpoint", async () => {
    const { token } = await atConsole(node, issuer, person);
    const userinfo = await post(node, "/oauth/userinfo", {}, { authorization: `Bearer ${token}` });
    expect([userinfo.status, userinfo.body.error]).toEqual([401, "invalid_token"]);
    const introspected = await post(node, "/oauth/introspect", { token }, basic(app));
    expect(introspected.body).toEqual({ active: false });
    const ofConsole = { token, client_id: consoleId };
    expect((await post(node, "/oauth/introspect", ofConsole)).body.error).toBe("invalid_client");
    expect((await post(node, "/oauth/revoke", { token }, basic(app))).status).toBe(200);
    const refresh = { grant_type: "refresh_token", refresh_token: token };
    expect((await post(node, "/oauth/token", refresh, basic(app))).body.error).toBeDefined();
    const traded = {
      ...{ grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: token },
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    };
    expect((await post(node, "/oauth/token", traded, basic(app))).body.error).toBe("unauthorized_client");
    expect((await nodes.one.as(token).get("/v1/users/me")).status).toBe(200);
  });

  test("it changes nothing of its user's own account, whatever the roles, and says where the account is", async () => {
    const { token } = await atConsole(node, issuer, owner);
    const client: Client = nodes.one.as(token);
    const change = { oldPassword: owner.password, newPassword: "Green-Teapot-77" };
    const session = await nodes.one.as().post("/v1/sessions", { loginName: owner.username, password: owner.password });
    const own = `/v1/users/${owner.userId}`;
    const refused = [
      await client.put("/v1/users/me/password", change),
      await client.put(`${own}/password`, { newPassword: "Green-Teapot-77" }),
      await client.post(`${own}/email`, { email: "new@example.com" }),
      await client.post("/v1/users/me/tokens", {}),
      await client.post(`${own}/tokens`, {}),
      await client.post("/v1/users/me/factors:startTotp", {}),
      await client.post(`${own}:deactivate`, {}),
      await client.post(`${own}:erase`, {}),
      await client.delete(own),
      await client.delete(`/v1/sessions/${session.body.sessionId}`),
    ];
    for (const answer of refused) expect(reasonOf(answer)).toEqual([403, "OWN_ACCOUNT_IN_CONSOLE"]);
    done(await client.get(own));
    const other = await signedUp(nodes.one);
    done(await client.put(`/v1/users/${other.userId}/username`, { username: `${other.username}.a` }));
    done(await nodes.one.as(session.body.token).get("/v1/users/me"));
  });

  const ends = {
    "the sign-out": async ({ browser }: Held) => void (await signOut(browser)),
    "the end of its session by another": async ({ who }: Held) =>
      void done(await nodes.one.admin.delete(`/v1/users/${who.userId}/sessions`)),
    "the deactivation of its user": async ({ who }: Held) =>
      void done(await nodes.one.admin.post(`/v1/users/${who.userId}:deactivate`)),
    "a new password": async ({ who }: Held) =>
      void done(await nodes.one.admin.put(`/v1/users/${who.userId}/password`, { newPassword: "Green-Teapot-77" })),
    "the deactivation of the organization": async ({ organizationId }: Held) =>
      void done(await nodes.one.admin.post(`/v1/organizations/${organizationId}:deactivate`)),
  } satisfies Record<string, (held: Held) => Promise<void>>;

  test.each(Object.entries(ends))(
    "after %s it calls nothing, on the other node as soon as that reads the log",
    async (_, end) => {
      const organizationId = await organization(nodes.one);
      // Its only owner could not be deactivated.
      await ownerOf(organizationId);
      const who = await ownerOf(organizationId);
      const { browser, token } = await atConsole(node, issuer, who);
      for (const of of [nodes.one, nodes.two]) done(await of.as(token).get("/v1/users/me"));
      await end({ browser, who, organizationId });
      // The other node would keep the caller for a minute.
      await expect
        .poll(async () => reasonOf(await nodes.two.as(token).get("/v1/users/me")), { interval: 5, timeout: 30_000 })
        .toEqual([401, "TOKEN_INVALID"]);
      expect((await nodes.one.as(token).get("/v1/users/me")).status).toBe(401);
      expect((await renewed(browser, node, issuer)).error).toBe("login_required");
    },
  );

  test("it expires, and its row goes", async () => {
    const { token } = await atConsole(node, issuer, await signedUp(nodes.one));
    await using probe = openProbe(nodes.databaseUrl);
    await probe.sql`update console_sign_ons set expiration_date = now() - interval '1 second'`;
    expect((await nodes.one.as(token).get("/v1/users/me")).status).toBe(401);
  });

  test("a role that is taken away is gone with the next call, and one that is given is there", async () => {
    const who = await signedUp(nodes.one);
    const client = nodes.one.as((await atConsole(node, issuer, who)).token);
    expect((await client.get("/v1/users")).status).toBe(403);
    done(await nodes.one.admin.post("/v1/members", { userId: who.userId, roles: ["ORG_VIEWER"] }));
    expect((await client.get("/v1/users")).status).toBe(200);
    done(await nodes.one.admin.delete(`/v1/members/${who.userId}`));
    expect((await client.get("/v1/users")).status).toBe(403);
  });
});

type Held = {
  readonly browser: ReturnType<typeof openBrowser>;
  readonly who: Person;
  readonly organizationId: string;
};

describe("the sign-out of the console", () => {
  const url = (userId: string) =>
    `${node}/oauth/end-session?${new URLSearchParams({
      ...{ client_id: consoleId, post_logout_redirect_uri: `${issuer}/console/` },
      ...{ logout_hint: userId, state: "s2" },
    })}`;
  const ownPage = { "sec-fetch-site": "same-origin" };

  test("ends the sessions of its user at once where a page of ours asks, and leads back to the console", async () => {
    const who = await signedUp(nodes.one);
    const { browser, token } = await atConsole(node, issuer, who);
    const shown = await browser.send(url(who.userId), { headers: ownPage });
    expect([shown.status, shown.headers.get("location")]).toEqual([303, `${issuer}/console/?state=s2`]);
    expect((await nodes.one.as(token).get("/v1/users/me")).status).toBe(401);
  });

  test("asks where another site sends the browser there, or where the account is another", async () => {
    const [who, other] = [await signedUp(nodes.one), await signedUp(nodes.one)];
    const { browser, token } = await atConsole(node, issuer, who);
    const elsewhere = [{ "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }, {}];
    for (const headers of elsewhere)
      expect(titleOf(await browser.send(url(who.userId), { headers }))).toEqual([
        200,
        pageText("sign_out_title", "en"),
      ]);
    expect(titleOf(await browser.send(url(other.userId), { headers: ownPage }))).toEqual([
      200,
      pageText("sign_out_title", "en"),
    ]);
    expect((await nodes.one.as(token).get("/v1/users/me")).status).toBe(200);
  });

  test("leads nowhere else", async () => {
    const { browser } = await atConsole(node, issuer, person);
    for (const uri of ["https://evil.example/", `${issuer}/console`, `${issuer}/account`]) {
      const query = new URLSearchParams({ client_id: consoleId, post_logout_redirect_uri: uri });
      const shown = await browser.send(`${node}/oauth/end-session?${query}`, { headers: ownPage });
      expect([shown.status, shown.headers.get("location")]).toEqual([400, null]);
    }
  });
});

test("where the console is not served, nobody can sign in to it", async () => {
  await using off = await startTwoNodes({ publicUrl: issuer, portServes: ["docs"] });
  const shown = await openBrowser(off.one.url).open(consoleUrl(off.one.url, issuer));
  expect([shown.status, shown.headers.get("location")]).toEqual([400, null]);
  expect((await exchangeOf(off.one.url, issuer, "oc_x")).body.error).toBe("invalid_client");
});
