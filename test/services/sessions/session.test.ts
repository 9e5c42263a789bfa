import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { type Answer, machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let postern: Postern;
let sql: postgres.Sql;
beforeAll(async () => {
  postern = await startPostern();
  sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, log), max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await postern?.[Symbol.asyncDispose]();
});

const right = "Blue-Kettle-42";
const wrong = "Wrong-Kettle-42";
const signIn = (loginName: string, password: string) => postern.as().post("/v1/sessions", { loginName, password });
const reasonOf = ({ body }: Answer) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
const refused = (answer: Answer) => [answer.status, reasonOf(answer)];
const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};

test("a sign-in answers a token once, with its end", async () => {
  const { userId, username } = await signedUp(postern);
  const before = Date.now();
  const session = done(await signIn(username, right));
  expect(session).toMatchObject({ token: expect.stringMatching(/^ps_/), details: { sequence: "1" } });
  const begun = Date.parse(session.expirationDate) - postern.config.sessionLifetimeSeconds * 1000;
  expect(begun).toBeGreaterThanOrEqual(before);
  expect(begun).toBeLessThanOrEqual(Date.now());
  const client = postern.as(session.token);
  expect(done(await client.get("/v1/users/me")).user.id).toBe(userId);
  const [stored] = await sql`select jsonb_agg(payload)::text as text from events where stream = ${session.sessionId}`;
  expect(stored?.text).not.toContain(session.token);
  const { sessions } = done(await client.get("/v1/sessions"));
  expect(sessions[0]).toEqual({
    ...{ id: session.sessionId, userId, expirationDate: session.expirationDate, details: session.details },
    ...{ amr: ["pwd"], acr: "urn:postern:acr:single-factor", authTime: session.details.creationDate },
    ...{ enrolmentOnly: false, origin: { address: "127.0.0.1", userAgent: "node" } },
  });
});

test("the login name counts whatever its case and form", async () => {
  const person = {
    username: "Ångström.Ｗide",
    givenName: "A",
    familyName: "B",
    email: "a@example.com",
    password: right,
  };
  done(await postern.admin.post("/v1/users/human", person));
  for (const name of ["ÅNGSTRÖM.WIDE", "ångström.wide", " Ångström.wide ".normalize("NFD")])
    done(await signIn(name, right));
  expect(refused(await signIn("angstrom.wide", right))).toEqual([401, "SIGN_IN_FAILED"]);
});

test("unknown, wrong, inactive, without password and machine get one equal answer, and a lock that of a name that nobody has", async () => {
  const [locked, inactive] = [await signedUp(postern), await signedUp(postern)];
  const robot = await machine(postern);
  const bare = { username: "bare-user", givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  done(await postern.admin.post("/v1/users/human", bare));
  for (const name of [locked.username, "nobody-for-long"])
    for (let guess = 0; guess < 10; guess++) await signIn(name, wrong);
  done(await postern.admin.post(`/v1/users/${inactive.userId}:deactivate`));
  const answers = await Promise.all([
    signIn("nobody-of-this-name", right),
    signIn((await signedUp(postern)).username, wrong),
    signIn(inactive.username, right),
    signIn(robot.username, right),
    signIn(bare.username, right),
    signIn(bare.username, "é".repeat(1000)),
  ]);
  for (const { status, body } of answers) expect([status, body]).toEqual([401, answers[0]?.body]);
  const waiting = await Promise.all([
    signIn("nobody-for-long", right),
    signIn(locked.username, right),
    signIn(locked.username, wrong),
    signIn(locked.username, "é".repeat(1000)),
  ]);
  const withoutWait = ({ body }: Answer) => JSON.stringify(body).replace(/"retryDelay":"[^"]*"/, "");
  for (const answer of waiting)
    expect([answer.status, withoutWait(answer)]).toEqual([429, withoutWait(waiting[0] as Answer)]);
  expect(answers[0]?.body.message).not.toMatch(/nobody/);
});

test("one wrong guess fewer than the limit, at once, does not lock", async () => {
  const { username } = await signedUp(postern);
  await Promise.all(Array.from({ length: 9 }, (_, at) => signIn(username, `${wrong}-${at}`)));
  done(await signIn(username, right));
});

test("20 wrong guesses at once, of which 10 are allowed, lead to one lock, also for the right password", async () => {
  const { userId, username } = await signedUp(postern);
  const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => signIn(username, `${wrong}-${at}`)));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
  expect(answers.filter((answer) => reasonOf(answer) === "PASSWORD_ATTEMPTS")).toHaveLength(10);
  expect(await sql`select from events where stream = ${userId} and type = 'user.locked'`).toHaveLength(1);
  expect(refused(await signIn(username, right))).toEqual([429, "PASSWORD_ATTEMPTS"]);
  done(await postern.admin.post(`/v1/users/${userId}:unlock`));
  done(await signIn(username, right));
});

test("a lock made by guesses on two nodes counts them together", async () => {
  const { adminToken, masterKeys } = postern.config;
  await using second = await startPostern({ databaseUrl: postern.databaseUrl, adminToken, masterKeys });
  const { username } = await signedUp(postern);
  const nodes = [postern, second];
  await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      (nodes[at % 2] ?? postern).as().post("/v1/sessions", { loginName: username, password: `${wrong}-${at}` }),
    ),
  );
  for (const node of nodes)
    expect((await node.as().post("/v1/sessions", { loginName: username, password: right })).status).toBe(429);
});

test("more right passwords at once than wrong ones are allowed all sign in", async () => {
  const { userId, username } = await signedUp(postern);
  const answers = await Promise.all(Array.from({ length: 16 }, () => signIn(username, right)));
  for (const answer of answers) done(answer);
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.state).toBe("USER_STATE_ACTIVE");
});

test("a lock that runs out lets in again, and as many wrong guesses lock again", async () => {
  const organizationId = await organization(postern);
  const policy = { maximumAttempts: 3, lockDuration: "60s" };
  const there = { "x-service-orgid": organizationId };
  done(await postern.admin.put("/v1/policies/lockout", { policy }, there));
  const { userId, username } = await signedUp(postern, { organizationId });
  const guessed = async () => {
    for (let guess = 0; guess < 3; guess++) expect((await signIn(username, wrong)).status).toBe(401);
    expect(refused(await signIn(username, right))).toEqual([401, "SIGN_IN_FAILED"]);
    expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.state).toBe("USER_STATE_LOCKED");
  };
  // As if a minute had passed.
  const runOut = () =>
    sql`update users set locked_until = locked_until - interval '60 seconds' where user_id = ${userId}`;
  await guessed();
  await runOut();
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.state).toBe("USER_STATE_ACTIVE");
  await guessed();
  await runOut();
  done(await signIn(username, right));
  await guessed();
});

test("a limit below what was counted already leaves one more guess: a right one signs in, a wrong one locks", async () => {
  const organizationId = await organization(postern);
  const allow = async (maximumAttempts: number) => {
    const there = { "x-service-orgid": organizationId };
    done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts } }, there));
  };
  const { userId, username } = await signedUp(postern, { organizationId });
  const state = async () => done(await postern.admin.get(`/v1/users/${userId}`)).user.state;
  const guessed = async (times: number) => {
    for (let guess = 0; guess < times; guess++) expect((await signIn(username, wrong)).status).toBe(401);
  };
  for (const fewer of [3, 5]) {
    await allow(10);
    await guessed(5);
    await allow(fewer);
    done(await signIn(username, right));
  }
  await allow(10);
  await guessed(5);
  await allow(3);
  expect(await state()).toBe("USER_STATE_ACTIVE");
  await guessed(1);
  expect(await state()).toBe("USER_STATE_LOCKED");
  expect(refused(await signIn(username, right))).toEqual([401, "SIGN_IN_FAILED"]);
});

test("guesses at the same moment after the limit was lowered lock", async () => {
  const organizationId = await organization(postern);
  const there = { "x-service-orgid": organizationId };
  const { userId, username } = await signedUp(postern, { organizationId });
  for (let guess = 0; guess < 3; guess++) await signIn(username, wrong);
  done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 2 } }, there));
  const answers = await Promise.all(Array.from({ length: 7 }, () => signIn(username, wrong)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.state).toBe("USER_STATE_LOCKED");
});

/** Ends the wait of strangers, as time does. */
const waitIsOver = (userId: string) =>
  sql`update sign_in_failures set wait_until = now() - interval '1 second' where subject = ${userId}`;

test("a lock ends by itself: after 15 minutes, then each next one twice as long, an hour at most", async () => {
  const { userId, username } = await signedUp(postern);
  const lockedForSeconds = async () => {
    for (let guess = 0; guess < 10; guess++) expect((await signIn(username, wrong)).status).toBe(401);
    expect(refused(await signIn(username, right))).toEqual([429, "PASSWORD_ATTEMPTS"]);
    const [row] = await sql<{ seconds: number }[]>`
      select extract(epoch from (payload->>'until')::timestamptz - time)::integer as seconds
      from events where stream = ${userId} and type = 'user.locked' order by version desc limit 1`;
    // As if so much time had passed.
    await sql`update users set locked_until = now() - interval '1 second' where user_id = ${userId}`;
    await waitIsOver(userId);
    return row?.seconds;
  };
  const minutes = [];
  for (let times = 0; times < 4; times++) minutes.push((await lockedForSeconds()) ?? 0);
  expect(minutes.map((seconds) => seconds / 60)).toEqual([15, 30, 60, 60]);
  done(await signIn(username, right));
  expect(await lockedForSeconds()).toBe(15 * 60);
});

test("ten strangers do not shut out the only administrator for good", async () => {
  const [admin] = await sql<{ username: string }[]>`select username from users where user_id = ${postern.adminId}`;
  for (let guess = 0; guess < 10; guess++) await signIn(admin?.username ?? "", wrong);
  const [row] = await sql`select locked, locked_until as until from users where user_id = ${postern.adminId}`;
  expect(row).toEqual({ locked: true, until: expect.any(Date) });
  done(await postern.admin.post(`/v1/users/${postern.adminId}:unlock`));
});

test("a policy says that a lock lasts until an administrator ends it", async () => {
  const organizationId = await organization(postern);
  const policy = { maximumAttempts: 2, untilUnlocked: true };
  done(await postern.admin.put("/v1/policies/lockout", { policy }, { "x-service-orgid": organizationId }));
  const { userId, username } = await signedUp(postern, { organizationId });
  for (let guess = 0; guess < 2; guess++) await signIn(username, wrong);
  const [row] = await sql`select locked, locked_until as until from users where user_id = ${userId}`;
  expect(row).toEqual({ locked: true, until: null });
});

test("a limit of 0 never locks", async () => {
  const organizationId = await organization(postern);
  done(
    await postern.admin.put(
      "/v1/policies/lockout",
      { policy: { maximumAttempts: 0 } },
      { "x-service-orgid": organizationId },
    ),
  );
  const { userId, username } = await signedUp(postern, { organizationId });
  await Promise.all(Array.from({ length: 15 }, () => signIn(username, wrong)));
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.state).toBe("USER_STATE_ACTIVE");
  await waitIsOver(userId);
  done(await signIn(username, right));
});

test("a full queue refuses at once, says when to try again, and counts no attempt", async () => {
  await using slow = await startPostern({
    hashConcurrency: 1,
    hashQueue: 1,
    hashMemoryKib: 19_456,
    hashIterations: 40,
  });
  const { userId, username } = await signedUp(slow);
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => slow.as().post("/v1/sessions", { loginName: username, password: right })),
  );
  const busy = answers.filter(({ status }) => status === 429);
  expect(busy.length).toBeGreaterThan(0);
  for (const answer of answers.filter(({ status }) => status !== 429)) done(answer);
  expect(reasonOf(busy[0] as Answer)).toBe("OVERLOADED");
  expect(JSON.stringify(busy[0]?.body)).toContain("retryDelay");
  const own = postgres(driverUrl(slow.databaseUrl), { ...clientOptions(slow.databaseUrl, log), max: 1 });
  const counted = await own`select attempts from password_attempts where user_id = ${userId} and attempts > 0`;
  await own.end();
  expect(counted).toEqual([]);
});

test("a sign-in renews a hash that was made at another cost, without a fact", async () => {
  const { adminToken, masterKeys } = postern.config;
  await using dearer = await startPostern({
    ...{ databaseUrl: postern.databaseUrl, adminToken, masterKeys },
    hashMemoryKib: 128,
  });
  const { userId, username } = await signedUp(postern);
  const hashOf = async () => (await sql`select hash from passwords where user_id = ${userId}`)[0]?.hash;
  const facts = async () => (await sql`select from events where stream = ${userId}`).length;
  const [before, known] = [await hashOf(), await facts()];
  expect(before).toContain("m=64,");
  await Promise.all(
    Array.from({ length: 3 }, async () =>
      done(await dearer.as().post("/v1/sessions", { loginName: username, password: right })),
    ),
  );
  expect(await hashOf()).toContain("m=128,");
  expect(await facts()).toBe(known);
  done(await dearer.as().post("/v1/sessions", { loginName: username, password: right }));
});

test("no session outlives a change of the password that it came with", async () => {
  const { userId, username } = await signedUp(postern);
  for (let round = 0; round < 5; round++) {
    const [password, next] = [round === 0 ? right : `Round-${round}-Pot`, `Round-${round + 1}-Pot`];
    const signIns = Array.from({ length: 8 }, () => signIn(username, password));
    const set = postern.admin.put(`/v1/users/${userId}/password`, { newPassword: next });
    const signedIn = (await Promise.all(signIns)).filter(({ status }) => status === 200);
    done(await set);
    for (const { body } of signedIn) expect((await postern.as(body.token).get("/v1/users/me")).status).toBe(401);
    expect(await sql`select from sessions where user_id = ${userId}`).toHaveLength(0);
  }
});

test("no session outlives the end of its user's right to sign in", async () => {
  const { userId, username } = await signedUp(postern);
  const to = (verb: string) => postern.admin.post(`/v1/users/${userId}:${verb}`).then(done);
  for (let round = 0; round < 5; round++) {
    const signIns = Array.from({ length: 8 }, () => signIn(username, right));
    await to("deactivate");
    await Promise.all(signIns);
    expect(await sql`select from sessions where user_id = ${userId}`).toHaveLength(0);
    await to("reactivate");
  }
});

test("sessions are listed newest first, page by page", async () => {
  const { userId, username, client } = await signedUp(postern);
  for (let more = 0; more < 2; more++) done(await signIn(username, right));
  const all = done(await postern.admin.get(`/v1/sessions?userId=${userId}`)).sessions;
  expect(all).toHaveLength(3);
  expect(all.map(({ id }: { id: string }) => id)).toEqual(
    all
      .map(({ id }: { id: string }) => id)
      .toSorted()
      .toReversed(),
  );
  const first = done(await client.get("/v1/sessions?pageSize=2"));
  const rest = done(await client.get(`/v1/sessions?pageSize=2&pageToken=${first.nextPageToken}`));
  expect([...first.sessions, ...rest.sessions]).toEqual(all);
  expect(rest.nextPageToken).toBe("");
});

test("a session is ended by its user or an administrator, at once and once", async () => {
  const { username, client } = await signedUp(postern);
  const other = done(await signIn(username, right));
  expect(done(await client.delete(`/v1/sessions/${other.sessionId}`)).details).toMatchObject({ sequence: "2" });
  expect(refused(await postern.as(other.token).get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  expect(refused(await client.delete(`/v1/sessions/${other.sessionId}`))).toEqual([404, "SESSION_NOT_FOUND"]);
  const [own] = done(await client.get("/v1/sessions")).sessions;
  done(await postern.admin.delete(`/v1/sessions/${own.id}`));
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
});

test("another's sessions are out of reach without the permission", async () => {
  const [one, other] = [await signedUp(postern), await signedUp(postern)];
  const [session] = done(await other.client.get("/v1/sessions")).sessions;
  expect(refused(await one.client.get(`/v1/sessions?userId=${other.userId}`))).toEqual([403, "PERMISSION_DENIED"]);
  expect(refused(await one.client.delete(`/v1/sessions/${session.id}`))).toEqual([403, "PERMISSION_DENIED"]);
  expect(refused(await postern.admin.get("/v1/sessions?userId=nobody"))).toEqual([404, "USER_NOT_FOUND"]);
});

test("a session that is over is not listed and signs nobody in", async () => {
  await using brief = await startPostern({ sessionLifetimeSeconds: 1 });
  const { client } = await signedUp(brief);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
});
