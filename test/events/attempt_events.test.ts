import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../src/events/rebuild.ts";
import { folds } from "../../src/runtime/modules.ts";
import { startServer } from "../../src/server/server.ts";
import { eventually } from "../first_start.ts";
import { pendingOf, withTotp, wrongCodeOf } from "../fixture/factors.ts";
import { holdTable } from "../fixture/held_row.ts";
import { type Client, clientOf, machine, organization, type Postern, signedUp, startPostern } from "../harness.ts";
import { mailsTo } from "../notify/mail_log.ts";
import { oneConnection } from "./log_of.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern({ trustedProxies: ["127.0.0.1"], mailSendsPerUser: 1 });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

type Event = {
  readonly type: string;
  readonly time: string;
  readonly aboutUserId?: string;
  readonly actorId?: string;
  readonly resourceOwner: string;
  readonly origin?: object;
  readonly fact: { readonly attempt: Readonly<Record<string, { readonly counts?: readonly Count[] }>> };
};
type Count = { readonly type: string; readonly count: string };

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const types = ["password", "factor", "code", "password_change", "permission"].map((one) => `attempt.${one}_refused`);
const requested = ["attempt.password_reset_requested", "attempt.sign_in_code_requested"];
const all = [...types, "attempt.more", ...requested].map((type) => `types=${type}`).join("&");

async function attempts(client: Client, query: string, headers = {}): Promise<Event[]> {
  const ofTypes = query.includes("types=") ? query : `${all}&${query}`;
  const { status, body } = await client.get(`/v1/events?pageSize=1000&${ofTypes}`, headers);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.events;
}

/** What the attempts about a user say, the first one first, once there are so many. */
const saying = (query: string, count: number, client = postern.admin) =>
  eventually(async () => {
    const found = await attempts(client, query);
    return found.length >= count ? found.toReversed() : undefined;
  }, `${count} attempts`);

/** Watches events until it is disposed of. */
async function watch(client: Client, query: string) {
  const stop = new AbortController();
  const answer = await fetch(`${postern.url}/v1/events:watch?${query}`, {
    headers: { authorization: `Bearer ${client.token}`, accept: "application/x-ndjson" },
    signal: stop.signal,
  });
  expect(answer.status).toBe(200);
  let heard = "";
  const ended = (async () => {
    for await (const text of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) heard += text;
  })().catch(() => {});
  const close = async () => {
    stop.abort();
    await ended;
  };
  return { text: () => heard, [Symbol.asyncDispose]: close };
}

/** An organization with an owner of its own. */
async function withOwner() {
  const organizationId = await organization(postern);
  const { userId, client } = await machine(postern, { organizationId });
  await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, inside(organizationId));
  return { organizationId, owner: client };
}

const codesIn = (text: string) => text.match(/\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/g) ?? [];

const from = { "x-forwarded-for": "203.0.113.50", "user-agent": "guesser/1.0" };
const origin = { address: "203.0.113.50", userAgent: "guesser/1.0" };

test("whatever was refused to or about a user is an event about the user, from where it came, and changes no sequence", async () => {
  const { userId, username, client } = await signedUp(postern);
  const sequence = async () => (await postern.admin.get(`/v1/users/${userId}`)).body.user.details.sequence;
  await postern.admin.post(`/v1/users/${userId}/email`, { email: "other@example.com", returnCode: {} });
  const before = await sequence();
  const wrong = { oldPassword: "Wrong-Kettle-42", newPassword: "Blue-Teapot-77" };
  await postern.as().post("/v1/sessions", { loginName: username, password: "wrong" }, from);
  await client.put("/v1/users/me/password", wrong, from);
  await client.post(`/v1/users/${userId}/email:verify`, { verificationCode: "AAAAAA" }, from);
  await client.delete(`/v1/users/${postern.adminId}`, from);
  await client.get(`/v1/users/${postern.adminId}`, from);
  // Refused without a question to the database.
  await client.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true }, from);

  const found = await saying(`aboutUserId=${userId}`, 5);
  expect(found.map(({ fact }) => fact.attempt)).toEqual([
    { passwordRefused: { userId, reason: "PASSWORD_REFUSAL_WRONG" } },
    { passwordChangeRefused: { userId, blocked: false } },
    { codeRefused: { userId, purpose: "CODE_PURPOSE_EMAIL" } },
    {
      permissionRefused: {
        ...{ userId, operation: "postern.v1.UserService/DeleteUser", permission: "user.write" },
      },
    },
    {
      permissionRefused: {
        ...{ userId, operation: "postern.v1.MemberService/AddMember", permission: "instance.write" },
      },
    },
  ]);
  expect(found.map(({ actorId }) => actorId)).toEqual([undefined, userId, userId, userId, userId]);
  for (const one of found) expect(one).toMatchObject({ origin, resourceOwner: postern.organizationId });
  expect(await sequence()).toBe(before);
});

test("a reset that somebody asks for is an event about the user, with or without a mail, and changes no sequence", async () => {
  const { userId, username } = await signedUp(postern);
  const sequence = async () => (await postern.admin.get(`/v1/users/${userId}`)).body.user.details.sequence;
  const before = await sequence();
  const ask = () => postern.as().post("/v1/password-resets", { loginName: username }, from);
  const first = await ask();
  await saying(`aboutUserId=${userId}`, 1);
  await ask();
  const found = await saying(`aboutUserId=${userId}`, 2);
  expect(found.map(({ fact }) => fact.attempt.passwordResetRequested)).toEqual([
    { userId, passwordCodeId: expect.any(String) },
    { userId },
  ]);
  for (const one of found) expect(one).toMatchObject({ origin, resourceOwner: postern.organizationId });
  expect(found[0]).toMatchObject({ requestId: first.headers.get("x-request-id") });
  expect(await sequence()).toBe(before);
  expect(codesIn((await mailsTo(postern, `${username}@example.com`))[0]?.text ?? "")).toHaveLength(1);
});

test("a code for an address that the user gave up while it was written is worth nothing", async () => {
  const { userId, username } = await signedUp(postern);
  const email = `${username}@example.com`;
  await postern.as().post("/v1/password-resets", { loginName: username });
  const [mail] = await mailsTo(postern, email);
  const [verificationCode] = codesIn(mail?.text ?? "");
  await using database = oneConnection(postern.databaseUrl);
  await database.sql`
    create temporary table written as select * from mail_codes where user_id = ${userId} and purpose = 'password'`;
  // The change ends the codes that there are, and this one is written a moment later.
  const tryAfter = async (address: string) => {
    await postern.admin.post(`/v1/users/${userId}/email`, { email: address, isVerified: true });
    expect((await database.sql`insert into mail_codes select * from written`).count).toBe(1);
    const complete = { verificationCode, newPassword: "Green-Teapot-77" };
    return (await postern.as().post("/v1/password-resets:complete", complete)).status;
  };
  expect(await tryAfter(`new-${email}`)).toBe(400);
  await database.sql`delete from mail_codes where user_id = ${userId} and purpose = 'password'`;
  expect(await tryAfter(email)).toBe(200);
});

test("a block of ChangePassword says until when, and what is tried during it counts too", async () => {
  const organizationId = await organization(postern);
  await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 3 } }, inside(organizationId));
  const { userId, client } = await signedUp(postern, { organizationId });
  const change = { oldPassword: "Wrong-Kettle-42", newPassword: "Blue-Teapot-77" };
  for (let nth = 0; nth < 4; nth++) await client.put("/v1/users/me/password", change);
  const found = await saying(`instance=true&aboutUserId=${userId}`, 4);
  expect(found.map(({ fact }) => fact.attempt.passwordChangeRefused)).toEqual([
    { userId, blocked: false },
    { userId, blocked: false },
    { userId, blocked: false, until: expect.any(String) },
    { userId, blocked: true },
  ]);
});

test("wrong second factors are events about the user, also while codes are refused", async () => {
  const person = await withTotp(postern);
  const { token: pendingToken } = await pendingOf(postern, person);
  const complete = (totpCode: string) => postern.as().post("/v1/sessions:complete", { pendingToken, totpCode });
  for (let nth = 0; nth < 6; nth++) await complete(wrongCodeOf(person.secret));
  const found = await saying(`aboutUserId=${person.userId}&types=attempt.factor_refused`, 6);
  expect(found.slice(4).map(({ fact }) => fact.attempt.factorRefused)).toEqual([
    {
      ...{ userId: person.userId, factorId: person.factorId, reason: "FACTOR_REFUSAL_CODE" },
      until: expect.any(String),
    },
    { userId: person.userId, reason: "FACTOR_REFUSAL_WAIT" },
  ]);
});

test("what nobody is called is stored nowhere, and such attempts are the instance's", async () => {
  const secret = "Correct-Horse-9f86d081";
  await postern.as().post("/v1/sessions", { loginName: secret, password: "Blue-Kettle-42" }, from);
  await postern.as().post("/v1/password-resets", { loginName: secret }, from);
  await postern.as().post("/v1/password-resets:complete", { verificationCode: secret, newPassword: secret }, from);
  const { owner } = await withOwner();
  const found = await eventually(async () => {
    const nobodys = (await attempts(postern.admin, "instance=true")).filter(({ aboutUserId }) => !aboutUserId);
    return nobodys.length >= 3 ? nobodys : undefined;
  }, "attempts about nobody");
  for (const one of found) expect(one.resourceOwner).not.toBe(postern.organizationId);
  expect(found[0]?.origin).toEqual(origin);
  expect(await attempts(owner, "")).toEqual([]);
  for (const one of await attempts(postern.admin, "")) expect(one.aboutUserId).toBeTruthy();
  await using database = oneConnection(postern.databaseUrl);
  const tables = await database.sql<
    { name: string }[]
  >`select tablename as name from pg_tables where schemaname = 'public'`;
  expect(tables.length).toBeGreaterThan(50);
  for (const { name } of tables) {
    const text = `select from ${name} t where t::text ilike '%${secret}%' or t::text ilike '%${Buffer.from(secret).toString("hex")}%'`;
    expect([name, await database.sql.unsafe(text)]).toEqual([name, []]);
  }
});

test("an owner sees the attempts about users of the organization, another organization's owner none", async () => {
  const [one, other] = [await withOwner(), await withOwner()];
  const { userId, username } = await signedUp(postern, one);
  await using watched = await watch(one.owner, `aboutUserId=${userId}&types=attempt.password_refused`);
  await using hostileWatch = await watch(other.owner, `aboutUserId=${userId}`);
  await postern.as().post("/v1/sessions", { loginName: username, password: "wrong" });
  await eventually(() => watched.text().includes(userId) || undefined, "an event that is watched");
  expect(hostileWatch.text()).toBe("");
  expect(await saying(`aboutUserId=${userId}`, 1, one.owner)).toHaveLength(1);
  expect(await attempts(one.owner, "types=attempt.password_refused")).toMatchObject([{ aboutUserId: userId }]);
  const hostile = ["", `aboutUserId=${userId}`, "types=attempt.password_refused", `actorId=${userId}`];
  for (const query of hostile) expect(await attempts(other.owner, query)).toEqual([]);
  const inOthers = await other.owner.get("/v1/events", inside(one.organizationId));
  expect(inOthers.status).toBe(403);
  expect((await other.owner.get("/v1/events?instance=true")).status).toBe(403);
});

/** Users of a new organization, created in one call. */
async function crowd(count: number) {
  const organizationId = await organization(postern);
  const items = Array.from({ length: count }, (_, nth) => {
    const username = `crowd${nth}-${organizationId}`;
    return {
      human: {
        username,
        givenName: "Ada",
        familyName: "Byron",
        email: `${username}@example.com`,
      },
    };
  });
  const { body } = await postern.admin.post("/v1/users:batchCreate", { items }, inside(organizationId));
  const ids: string[] = body.outcomes.map((one: { created: { userId: string } }) => one.created.userId);
  return {
    organizationId,
    users: items.map(({ human }, nth) => ({ username: human.username, userId: ids[nth] ?? "" })),
  };
}

const timesIn = (found: readonly Event[]) =>
  found
    .flatMap(({ fact }) => Object.values(fact.attempt))
    .flatMap(({ counts = [] }) => counts)
    .reduce((sum, { count }) => sum + Number(count), 0);

test("of a flood over two nodes a minute has a bounded number of events, and counts for the rest: none is missing", async () => {
  const [victim, spray] = [await crowd(1), await crowd(150)];
  const [one] = victim.users;
  const since = new Date().toISOString();
  const names = [
    ...Array.from({ length: 40 }, () => one?.username ?? ""),
    ...spray.users.map(({ username }) => username),
    ...Array.from({ length: 60 }, (_, nth) => `nobody-${nth}-${victim.organizationId}`),
  ];
  {
    await using first = await startServer(postern.config);
    await using second = await startServer(postern.config);
    const nodes = [clientOf(first.url), clientOf(second.url)] as const;
    const guess = (loginName: string, nth: number) =>
      (nodes[nth % 2] ?? nodes[0]).post("/v1/sessions", { loginName, password: "wrong" });
    // Others are heard of however many there are at one.
    for (let at = 0; at < names.length; at += 25) await Promise.all(names.slice(at, at + 25).map(guess));
  }
  // A stop has written everything.
  const found = await attempts(postern.admin, `instance=true&since=${since}`);
  const listed = found.filter(({ type }) => type !== "attempt.more");
  const more = found.filter(({ type }) => type === "attempt.more");
  expect(listed.length + timesIn(more)).toBe(names.length);
  const minutes = Map.groupBy(listed, ({ time }) => time.slice(0, 16));
  for (const [, ofMinute] of minutes) {
    expect(ofMinute.length).toBeLessThanOrEqual(100);
    for (const [, ofUser] of Map.groupBy(ofMinute, ({ aboutUserId }) => aboutUserId))
      expect(ofUser.length).toBeLessThanOrEqual(10);
    for (const [, ofOwner] of Map.groupBy(ofMinute, ({ resourceOwner }) => resourceOwner))
      expect(ofOwner.length).toBeLessThanOrEqual(75);
  }
  const about = (userId: string | undefined) =>
    [listed, more].map((these) => these.filter(({ aboutUserId }) => aboutUserId === userId));
  const [listedOfOne = [], moreOfOne = []] = about(one?.userId);
  expect(listedOfOne.length).toBeGreaterThanOrEqual(10);
  expect(listedOfOne.length + timesIn(moreOfOne)).toBe(40);
  const ofSpray = found.filter(({ resourceOwner }) => resourceOwner === spray.organizationId);
  expect(
    ofSpray.filter(({ type }) => type !== "attempt.more").length +
      timesIn(ofSpray.filter(({ type }) => type === "attempt.more")),
  ).toBe(150);
  await using client = oneConnection(postern.databaseUrl);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});

test("while a lock holds up the writing of attempts, answers do not wait for it, and none is missing afterwards", async () => {
  const { organizationId, users } = await crowd(60);
  {
    await using node = await startServer(postern.config);
    const guesser = clientOf(node.url);
    await using _ = await holdTable(postern.databaseUrl, "attempt_places");
    const guess = (loginName: string) => guesser.post("/v1/sessions", { loginName, password: "wrong" });
    for (const { username } of users) expect((await guess(username)).status).toBe(401);
    await using database = oneConnection(postern.databaseUrl);
    const waits = () => database.sql`
      select from pg_locks where not granted and relation = 'attempt_places'::regclass`;
    await eventually(async () => (await waits()).length > 0 || undefined, "a statement that waits for the lock");
    for (const { username } of users) expect((await guess(username)).status).toBe(401);
    expect(await attempts(postern.admin, "", inside(organizationId))).toEqual([]);
  }
  const found = await attempts(postern.admin, "", inside(organizationId));
  expect(found.filter(({ type }) => type !== "attempt.more").length + timesIn(found)).toBe(2 * users.length);
});
