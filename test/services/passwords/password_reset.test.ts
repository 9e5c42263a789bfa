import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { accountLabel, mailTexts } from "../../../src/messages/mail_texts.ts";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { type Answer, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { allMails, mailsTo } from "../../notify/mail_log.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const sends = 3;
const newPassword = "Green-Teapot-77";

let postern: Postern;
let sql: postgres.Sql;
beforeAll(async () => {
  const passwordCodeUrl = "https://app.example/password#{code}";
  postern = await startPostern({ mailSendsPerUser: sends, mailSendsPerAddress: sends, passwordCodeUrl });
  sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, log), max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await postern?.[Symbol.asyncDispose]();
});

const newAddress = () => `ada.${randomBytes(6).toString("hex")}@example.com`;
type ErrorBody = { details: { reason?: string }[] };
const refused = ({ status, body }: Answer) => [status, (body as ErrorBody).details[0]?.reason];
const answered = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const ask = (body: object, by = postern.as(), headers: Record<string, string> = {}) =>
  by.post("/v1/password-resets", body, headers);
const reset = (verificationCode: string, password = newPassword) =>
  postern.as().post("/v1/password-resets:complete", { verificationCode, newPassword: password });
const signIn = (loginName: string, password: string) => postern.as().post("/v1/sessions", { loginName, password });
const setAddress = (userId: string, email: string, isVerified = true) =>
  postern.admin.post(`/v1/users/${userId}/email`, { email, ...(isVerified ? { isVerified } : { returnCode: {} }) });

/** A user with a password and a verified address. */
async function person(email = newAddress()) {
  const user = await signedUp(postern);
  answered(await setAddress(user.userId, email));
  return { ...user, email };
}

/** A user without a password. */
async function newcomer(email = newAddress()) {
  const username = `new-${randomBytes(6).toString("hex")}`;
  const names = { username, givenName: "Ada", familyName: "Byron", email };
  const { outcomes } = answered(await postern.admin.post("/v1/users:batchCreate", { items: [{ human: names }] }));
  return { ...names, userId: outcomes[0].created.userId as string };
}

const codesIn = (text: string) => text.match(/\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/g) ?? [];
const codeTo = async (email: string, nth = 1) =>
  codesIn((await mailsTo(postern, email, nth)).at(-1)?.text ?? "")[0] ?? expect.unreachable();

/** Waits until every request has been answered by the worker. */
const settled = () =>
  vi.waitFor(async () => expect(await sql`select from password_reset_requests`).toHaveLength(0), 60_000);

test("who forgot the password sets a new one with the code from the mail, and all sessions end", async () => {
  const { username, email, client, userId, password } = await person();
  expect(answered(await ask({ loginName: username.toUpperCase() }))).toEqual({});
  const [mail] = await mailsTo(postern, email);
  const [code = ""] = codesIn(mail?.text ?? "");
  expect(mail).toMatchObject({
    subject: mailTexts.reset_password.en.subject,
    text: expect.stringContaining(`${accountLabel.en} ${username}`),
  });
  expect(mail?.text).toContain(`https://app.example/password#${code.replaceAll("-", "")}`);
  expect(answered(await reset(` ${code.toLowerCase()} `)).details).toMatchObject({
    resourceOwner: postern.organizationId,
  });
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  expect(refused(await signIn(username, password))).toEqual([401, "SIGN_IN_FAILED"]);
  answered(await signIn(username, newPassword));
  const types = await sql`select type, payload from events where stream = ${userId} order by version`;
  expect(types.at(-1)).toEqual({
    type: "user.password_changed",
    payload: { byAdministrator: false, byCode: true, emailVerified: true },
  });
});

test("a new password by a code ends the access tokens of the user: whoever made one with the old password keeps nothing", async () => {
  const { userId, email, client } = await person();
  const { token } = answered(await client.post("/v1/users/me/tokens", {}));
  answered(await postern.as(token).get("/v1/users/me"));
  answered(await ask({ email }));
  answered(await reset(await codeTo(email)));
  expect((await postern.as(token).get("/v1/users/me")).status).toBe(401);
  expect(answered(await postern.admin.get(`/v1/users/${userId}/tokens`)).tokens).toEqual([]);
});

test("nobody is crowded out of the mail by later accounts with the same address, whatever their ids", async () => {
  const { email, username } = await person();
  const there = { "x-service-orgid": await organization(postern) };
  const items = Array.from({ length: 50 }, (_, n) => {
    const userId = `0-${randomBytes(6).toString("hex")}-${n}`;
    const names = { username: `crowd-${userId}`, givenName: "Ada", familyName: "Byron" };
    return { human: { ...names, userId, email, password: "Blue-Kettle-42" } };
  });
  answered(await postern.admin.post("/v1/users:batchCreate", { items, allOrNothing: true }, there));
  for (const { human } of items) answered(await setAddress(human.userId, email));
  for (const [nth, request] of [{ loginName: username }, { email }].entries()) {
    answered(await ask(request));
    const mails = await mailsTo(postern, email, nth + 1);
    expect(mails.at(-1)?.text).toContain(`Account: ${username}\n`);
  }
  const last = items.at(-1)?.human.username;
  answered(await ask({ loginName: last }));
  const mails = await mailsTo(postern, email, sends);
  expect(mails.at(-1)?.text).toContain(`Account: ${last}\n`);
});

test("a code works once, also when it comes several times at once, and no other code of the user after it", async () => {
  const { email } = await person();
  answered(await ask({ email }));
  const first = await codeTo(email);
  answered(await ask({ email: email.toUpperCase() }));
  const second = await codeTo(email, 2);
  const answers = await Promise.all(Array.from({ length: 4 }, () => reset(first)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  for (const code of [first, second])
    expect(refused(await reset(code, "Blue-Teapot-78"))).toEqual([400, "CODE_INVALID"]);
});

test("a later request takes no earlier code back: strangers cannot keep a user from its reset", async () => {
  const { email } = await person();
  answered(await ask({ email }));
  const first = await codeTo(email);
  answered(await ask({ email }));
  await mailsTo(postern, email, 2);
  answered(await reset(first));
});

test.each([
  [
    "a change of the password",
    (user: Awaited<ReturnType<typeof person>>) =>
      user.client.put("/v1/users/me/password", { oldPassword: user.password, newPassword: "Blue-Teapot-78" }),
  ],
  [
    "a password that an administrator sets",
    ({ userId }: { userId: string }) =>
      postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Blue-Teapot-78" }),
  ],
  ["another address", ({ userId }: { userId: string }) => setAddress(userId, newAddress())],
  ["deactivation", ({ userId }: { userId: string }) => postern.admin.post(`/v1/users/${userId}:deactivate`)],
  ["deletion", ({ userId }: { userId: string }) => postern.admin.delete(`/v1/users/${userId}`)],
] as const)("a code is worth nothing after %s", async (_, change) => {
  const user = await person();
  answered(await ask({ email: user.email }));
  const code = await codeTo(user.email);
  answered(await change(user));
  expect(refused(await reset(code))).toEqual([400, "CODE_INVALID"]);
});

test("a code is worth an hour", async () => {
  const { email, userId } = await person();
  answered(await ask({ email }));
  const code = await codeTo(email);
  const [row] = await sql`
    update mail_codes set expiration_date = expiration_date - interval '1 hour' where user_id = ${userId}
    returning abs(extract(epoch from expiration_date - now())) < 60 as hour`;
  expect(row?.hour).toBe(true);
  expect(refused(await reset(code))).toEqual([400, "CODE_INVALID"]);
});

test("one mail names every active account of the address, each with a code of its own", async () => {
  const email = newAddress();
  const [one, two, inactive] = [await person(email), await person(email.toUpperCase()), await person(email)];
  const unverified = await signedUp(postern);
  answered(await setAddress(unverified.userId, email, false));
  answered(await postern.admin.post(`/v1/users/${inactive.userId}:deactivate`));
  answered(await ask({ loginName: two.username }));
  // The account that was asked for comes first, and the mail goes to its address as it is written there.
  const [mail] = await mailsTo(postern, email.toUpperCase());
  const named = [...(mail?.text ?? "").matchAll(/^Account: (.*)\n(.*)$/gm)].map(([, name = "", code = ""]) => ({
    name,
    code,
  }));
  expect(named.map(({ name }) => name)).toEqual([two.username, one.username]);
  for (const { code } of named) answered(await reset(code));
  for (const { username } of [one, two]) answered(await signIn(username, newPassword));
  expect(refused(await signIn(unverified.username, newPassword))).toEqual([401, "SIGN_IN_FAILED"]);
});

test.each([
  ["deactivated", (id: string) => postern.admin.post(`/v1/organizations/${id}:deactivate`)],
  ["deleted", (id: string) => postern.admin.delete(`/v1/organizations/${id}`)],
])("users of an organization that is %s get no mail, and their codes are not in force", async (_, shut) => {
  const organizationId = await organization(postern);
  const [email, within] = [newAddress(), { "x-service-orgid": organizationId }];
  const { userId, username } = await signedUp(postern, { organizationId });
  const address = { email, isVerified: true };
  answered(await postern.admin.post(`/v1/users/${userId}/email`, address, within));
  answered(await ask({ email }));
  const code = await codeTo(email);
  answered(await shut(organizationId));
  for (const request of [{ email }, { loginName: username }]) answered(await ask(request));
  await settled();
  expect(await mailsTo(postern, email)).toHaveLength(1);
  expect(refused(await reset(code))).toEqual([400, "CODE_INVALID"]);
});

test("a request is answered and written alike, whether anybody is known or not", async () => {
  const known = await person();
  const unverified = await signedUp(postern);
  const none = await newcomer();
  answered(await setAddress(none.userId, none.email));
  const texts: string[] = [];
  for (const body of [
    { loginName: known.username },
    { email: known.email },
    { loginName: "nobody-at-all" },
    { email: newAddress() },
    { loginName: unverified.username },
    { email: none.email },
  ]) {
    const { status, body: answer, headers } = await ask(body);
    const fields = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name)).sort();
    texts.push(JSON.stringify([status, answer, fields]));
  }
  expect(new Set(texts).size).toBe(1);
  await mailsTo(postern, known.email, 2);
  expect(await mailsTo(postern, addressOf(unverified))).toHaveLength(1);
  await settled();
  const to = (await allMails(postern)).map((mail) => mail.to);
  expect(to).not.toContain(none.email);
});

const addressOf = ({ username }: { username: string }) => `${username}@example.com`;

test("a reset by login name reaches an address that nobody verified, and a new password by its code verifies it", async () => {
  const { userId, username } = await signedUp(postern);
  const email = addressOf({ username });
  answered(await ask({ email }));
  await settled();
  expect((await allMails(postern)).filter(({ to }) => to === email)).toHaveLength(0);
  answered(await ask({ loginName: username }));
  answered(await reset(await codeTo(email)));
  answered(await signIn(username, newPassword));
  expect((await postern.admin.get(`/v1/users/${userId}`)).body.user.human.emailVerified).toBe(true);
  answered(await ask({ email }));
  await codeTo(email, 2);
});

test("somebody with an unverified address gets the codes of those alone who verified it", async () => {
  const [{ email, username }, other, third] = [await person(), await signedUp(postern), await signedUp(postern)];
  for (const { userId } of [other, third]) answered(await setAddress(userId, email, false));
  answered(await ask({ loginName: other.username }));
  const text = (await mailsTo(postern, email))[0]?.text ?? "";
  expect([...text.matchAll(/^Account: (.*)$/gm)].map(([, name]) => name)).toEqual([other.username, username]);
});

test.each([
  ["an organization", false],
  ["the instance", true],
])("a policy of %s keeps resets to verified addresses", async (_, instance) => {
  await using alone = await startPostern();
  const policy = { minimumLength: 8, resetRequiresVerifiedEmail: true };
  answered(await alone.admin.put("/v1/policies/password", { policy, instance }));
  expect(answered(await alone.admin.get("/v1/policies/password")).policy.resetRequiresVerifiedEmail).toBe(true);
  const [unverified, proven] = [await signedUp(alone), await signedUp(alone)];
  const email = newAddress();
  answered(await alone.admin.post(`/v1/users/${proven.userId}/email`, { email, isVerified: true }));
  // Requests are answered in their order.
  for (const loginName of [unverified.username, proven.username])
    answered(await alone.as().post("/v1/password-resets", { loginName }));
  await mailsTo(alone, email);
  expect((await allMails(alone)).map(({ to }) => to)).toEqual([email]);
});

test("a user who was created as the README says gets a mail for a forgotten password", async () => {
  const { username, email } = { username: `ada-${randomBytes(6).toString("hex")}`, email: newAddress() };
  const names = { username, givenName: "Ada", familyName: "Lovelace", email, password: "Correct-Horse-42" };
  answered(await postern.admin.post("/v1/users/human", names));
  expect((await mailsTo(postern, email))[0]?.subject).toBe(mailTexts.verify_email.en.subject);
  answered(await ask({ loginName: username }));
  answered(await reset(await codeTo(email, 2)));
  answered(await signIn(username, newPassword));
});

test("mails to an address are limited, and nobody is told", async () => {
  const { email } = await person();
  for (let asked = 0; asked < sends + 2; asked++) {
    answered(await ask({ email }));
    await settled();
  }
  await mailsTo(postern, email, sends);
  await vi.waitFor(
    async () => expect(await sql`select from mail_messages where email = ${email}`).toHaveLength(0),
    60_000,
  );
  expect(await mailsTo(postern, email)).toHaveLength(sends);
});

test("a password that breaks the policy leaves the code as it was", async () => {
  const { email, username } = await person();
  answered(await ask({ email }));
  const code = await codeTo(email);
  expect(refused(await reset(code, "short"))).toEqual([400, "PASSWORD_POLICY"]);
  expect(refused(await reset(code, `${username}-Aa1`))).toEqual([400, "PASSWORD_POLICY"]);
  answered(await reset(code));
});

test("a reset ends a lock after wrong passwords, but not one that only an administrator ends", async () => {
  const locked = async (organizationId: string) => {
    const { userId, username } = await signedUp(postern, { organizationId });
    const email = newAddress();
    answered(await setAddress(userId, email));
    expect((await signIn(username, "wrong")).status).toBe(401);
    answered(await ask({ email }));
    answered(await reset(await codeTo(email)));
    return signIn(username, newPassword);
  };
  const strict = async (policy: object) => {
    const { organizationId } = answered(
      await postern.admin.post("/v1/organizations", { name: `Strict ${randomBytes(6).toString("hex")}` }),
    );
    answered(await postern.admin.put("/v1/policies/lockout", { policy }, { "x-service-orgid": organizationId }));
    return organizationId;
  };
  answered(await locked(await strict({ maximumAttempts: 1 })));
  expect(refused(await locked(await strict({ maximumAttempts: 1, untilUnlocked: true })))).toEqual([
    ...[401, "SIGN_IN_FAILED"],
  ]);
});

test("wrong codes and requests are slowed by the address that they come from", async () => {
  const limits = { signInFailuresPerAddressPerMinute: 2, passwordResetsPerAddressPerMinute: 2 };
  await using slow = await startPostern(limits);
  const guess = () => slow.as().post("/v1/password-resets:complete", { verificationCode: "2345-6789", newPassword });
  const guesses = [await guess(), await guess(), await guess()];
  expect(guesses.map(refused)).toEqual([
    ...[
      [400, "CODE_INVALID"],
      [400, "CODE_INVALID"],
      [429, "RATE_LIMIT"],
    ],
  ]);
  expect(Number(guesses[2]?.headers.get("retry-after"))).toBeGreaterThan(0);
  const request = () => slow.as().post("/v1/password-resets", { loginName: "nobody" });
  expect([(await request()).status, (await request()).status, (await request()).status]).toEqual([200, 200, 429]);
});

test("an invited user chooses its first password, and its address is verified by that", async () => {
  const { userId, username, email } = await newcomer();
  const german = { "accept-language": "de" };
  const { details, verificationCode } = answered(await postern.admin.post(`/v1/users/${userId}:invite`, {}, german));
  expect([details.sequence, verificationCode]).toEqual(["2", undefined]);
  const [mail] = await mailsTo(postern, email);
  expect(mail).toMatchObject({
    subject: mailTexts.invitation.de.subject,
    text: expect.stringContaining(`${accountLabel.de} ${username}`),
  });
  answered(await reset(codesIn(mail?.text ?? "")[0] ?? ""));
  answered(await signIn(username, newPassword));
  expect((await postern.admin.get(`/v1/users/${userId}`)).body.user.human).toMatchObject({
    email,
    emailVerified: true,
  });
  expect(refused(await postern.admin.post(`/v1/users/${userId}:invite`))).toEqual([400, "PASSWORD_EXISTS"]);
});

test("an invitation whose code is answered verifies no address, and is worth a day", async () => {
  const { userId, username, email } = await newcomer();
  const { verificationCode } = answered(await postern.admin.post(`/v1/users/${userId}:invite`, { returnCode: {} }));
  const [row] = await sql`
    select abs(extract(epoch from expiration_date - now() - interval '1 day')) < 60 as day from mail_codes
    where user_id = ${userId}`;
  expect(row?.day).toBe(true);
  answered(await reset(verificationCode));
  answered(await signIn(username, newPassword));
  expect((await postern.admin.get(`/v1/users/${userId}`)).body.user.human).toMatchObject({
    email,
    emailVerified: false,
  });
  expect((await allMails(postern)).filter(({ to }) => to === email)).toEqual([]);
});

test("no event and no log of the database holds a code that sets a password", async () => {
  const { email, userId } = await person();
  answered(await ask({ email }));
  const code = (await codeTo(email)).replaceAll("-", "");
  const events = await sql<{ payload: object }[]>`select payload from events where stream = ${userId}`;
  expect(JSON.stringify(events)).not.toContain(code);
  await vi.waitFor(
    async () => expect(await sql`select from mail_messages where email = ${email}`).toHaveLength(0),
    60_000,
  );
  const [row] = await sql<{ mac: Buffer }[]>`select mac from mail_codes where user_id = ${userId}`;
  expect(row?.mac).toHaveLength(32);
});
