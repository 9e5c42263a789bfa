import { readFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { type Answer, machine, type Postern, signedUp, startPostern } from "../../harness.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const limits = { phoneSendsPerUser: 3, phoneSendsPerNumber: 4, phoneSendWindowSeconds: 3600 };

let postern: Postern;
let sql: postgres.Sql;
beforeAll(async () => {
  postern = await startPostern(limits);
  sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, log), max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await postern?.[Symbol.asyncDispose]();
});

let numbers = 0;
/** A Swiss mobile number that no other test uses. */
const newNumber = () => `+4179${String(2_000_000 + ++numbers)}`;
const person = () => signedUp(postern);
const phoneOf = async (userId: string) => (await postern.admin.get(`/v1/users/${userId}`)).body.user.human;
const change = (userId: string, body: object, by = postern.admin) => by.post(`/v1/users/${userId}/phone`, body);
const verify = (userId: string, verificationCode: string, by = postern.admin) =>
  by.post(`/v1/users/${userId}/phone:verify`, { verificationCode });
const resend = (userId: string, body: object = {}, by = postern.admin) =>
  by.post(`/v1/users/${userId}/phone:resend`, body);

type ErrorBody = { details: { "@type": string; reason?: string; fieldViolations?: { field: string }[] }[] };
const detail = (body: ErrorBody, name: string) => body.details.find((one) => one["@type"].endsWith(`.${name}`));
const refused = ({ status, body }: Answer) => [status, detail(body, "ErrorInfo")?.reason];
const fields = ({ body }: Answer) =>
  (detail(body, "BadRequest")?.fieldViolations ?? []).map(({ field }) => field).sort();
const answered = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const facts = (userId: string) =>
  sql<{ type: string; payload: object }[]>`select type, payload from events where stream = ${userId} order by version`;

/** The text of the last SMS to the number, as the default sender wrote it. */
const lastSms = (phone: string) =>
  vi.waitFor(
    async () => {
      const lines = (await readFile(join(postern.config.dataDir, "sms.log"), "utf8")).trimEnd().split("\n");
      const texts = lines.map((line) => JSON.parse(line)).filter(({ to }) => to === phone);
      return texts.at(-1)?.text ?? expect.unreachable("no SMS yet");
    },
    { timeout: 60_000 },
  ) as Promise<string>;
const codeIn = (text: string) => /^[2-9B-Z]{6}/.exec(text)?.[0] ?? expect.unreachable(text);
/** Another code than this one. */
const wrong = (code: string) => (code.startsWith("2") ? "3" : "2") + code.slice(1);

test("a changed phone is unverified until the code from the SMS is typed, however it is typed", async () => {
  const { userId, client } = await person();
  const phone = newNumber();
  const { details, verificationCode } = answered(await change(userId, { phone, sendCode: {} }, client));
  expect(verificationCode).toBeUndefined();
  expect(Object.keys(details).sort()).toEqual(["changeDate", "resourceOwner", "sequence"]);
  expect(details).toMatchObject({ sequence: "2", resourceOwner: postern.organizationId });
  expect(await phoneOf(userId)).toMatchObject({ phone, phoneVerified: false });

  const code = codeIn(await lastSms(phone));
  const typed = ` ${code.slice(0, 3).toLowerCase()}-${code.slice(3)} `;
  expect(answered(await verify(userId, typed, client)).details).toMatchObject({ sequence: "3", creationDate: /Z$/ });
  expect(await phoneOf(userId)).toMatchObject({ phone, phoneVerified: true });
  expect(refused(await verify(userId, code, client))).toEqual([400, "PHONE_VERIFIED"]);
  expect(refused(await resend(userId, {}, client))).toEqual([400, "PHONE_VERIFIED"]);
});

test("a code that is answered is not sent", async () => {
  const { userId } = await person();
  const phone = newNumber();
  const { verificationCode } = answered(await change(userId, { phone, returnCode: {} }));
  expect(verificationCode).toMatch(/^[2-9B-Z]{6}$/);
  expect((await facts(userId)).at(-1)).toEqual({ type: "user.phone_changed", payload: { phone, verified: false } });
  expect(await sql`select from phone_sends where phone = ${phone}`).toHaveLength(0);
  expect(await sql`select sealed from phone_codes where user_id = ${userId}`).toEqual([{ sealed: null }]);
  answered(await verify(userId, verificationCode));
});

test("a phone that is stored as verified needs no code", async () => {
  const { userId } = await person();
  const phone = newNumber();
  const { verificationCode } = answered(await change(userId, { phone, isVerified: true }));
  expect(verificationCode).toBeUndefined();
  expect(await phoneOf(userId)).toMatchObject({ phone, phoneVerified: true });
  expect(await sql`select from phone_codes where user_id = ${userId}`).toHaveLength(0);
});

for (const [modes, named] of [
  [{ sendCode: {}, returnCode: {} }, ["returnCode", "sendCode"]],
  [{ sendCode: {}, isVerified: true }, ["isVerified", "sendCode"]],
  [{ returnCode: {}, isVerified: true }, ["isVerified", "returnCode"]],
  [{ sendCode: {}, returnCode: {}, isVerified: true }, ["isVerified", "returnCode", "sendCode"]],
] as const)
  test(`${named.join(" and ")} exclude each other, and both are named`, async () => {
    const { userId } = await person();
    const no = await change(userId, { phone: newNumber(), ...modes });
    expect(refused(no)).toEqual([400, "VALIDATION_FAILED"]);
    expect(fields(no)).toEqual(named);
    const also = await change(userId, { phone: "12", ...modes });
    expect(fields(also)).toEqual([...named, "phone"].sort());
    expect((await phoneOf(userId)).phone).toBeUndefined();
  });

test("isVerified: false goes with both other modes", async () => {
  const { userId } = await person();
  answered(await change(userId, { phone: newNumber(), sendCode: {}, isVerified: false }));
  answered(await change(userId, { phone: newNumber(), returnCode: {}, isVerified: false }));
  const no = await resend(userId, { sendCode: {}, returnCode: {} });
  expect([refused(no), fields(no)]).toEqual([
    [400, "VALIDATION_FAILED"],
    ["returnCode", "sendCode"],
  ]);
});

test("one may change one's own phone, but neither call it verified nor see the code", async () => {
  const { userId, client } = await person();
  const phone = newNumber();
  for (const mode of [{ isVerified: true }, { isVerified: false, returnCode: {} }, { returnCode: {} }])
    expect((await change(userId, { phone, ...mode }, client)).status).toBe(403);
  answered(await change(userId, { phone }, client));
  expect((await resend(userId, { returnCode: {} }, client)).status).toBe(403);
  answered(await resend(userId, {}, client));
  answered(await client.delete(`/v1/users/${userId}/phone`));
});

test("another's phone is out of reach without the permission, and a missing user does not exist", async () => {
  const [one, other] = [await person(), await person()];
  expect((await change(other.userId, { phone: newNumber() }, one.client)).status).toBe(403);
  expect(refused(await change("nobody", { phone: newNumber() }))).toEqual([404, "USER_NOT_FOUND"]);
  expect(refused(await verify("nobody", "234567"))).toEqual([404, "USER_NOT_FOUND"]);
});

test("the number is stored in E.164 form, or refused by name", async () => {
  const { userId } = await person();
  answered(await change(userId, { phone: " +1 (415) 555-2671 ", isVerified: true }));
  expect((await phoneOf(userId)).phone).toBe("+14155552671");
  for (const phone of ["044 668 18 00", "+4179", "hello", "+41446681800 ext. 9"]) {
    const no = await change(userId, { phone });
    expect([phone, refused(no), fields(no)]).toEqual([phone, [400, "PHONE_INVALID"], ["phone"]]);
  }
});

test("a fresh code for the same number replaces the one before, and no code verifies a number that is verified", async () => {
  const { userId } = await person();
  const phone = newNumber();
  const old = answered(await change(userId, { phone, returnCode: {} })).verificationCode;
  const fresh = answered(await change(userId, { phone, returnCode: {} })).verificationCode;
  expect(refused(await verify(userId, old))).toEqual([400, "CODE_INVALID"]);
  answered(await change(userId, { phone, isVerified: true }));
  expect(refused(await verify(userId, fresh))).toEqual([400, "PHONE_VERIFIED"]);
  answered(await change(userId, { phone: newNumber() }));
  expect((await phoneOf(userId)).phoneVerified).toBe(false);
});

type Outcome = "verified" | "a code is sent" | "a code is answered" | "PHONE_UNCHANGED";

/** The outcome of setting the same number in each mode, for a verified number and for an unverified one. */
const sameNumber: readonly [mode: object, whenVerified: Outcome, whenUnverified: Outcome][] = [
  [{}, "PHONE_UNCHANGED", "a code is sent"],
  [{ isVerified: true }, "PHONE_UNCHANGED", "verified"],
  [{ isVerified: false }, "a code is sent", "a code is sent"],
  [{ sendCode: {} }, "a code is sent", "a code is sent"],
  [{ sendCode: {}, isVerified: false }, "a code is sent", "a code is sent"],
  [{ returnCode: {} }, "a code is answered", "a code is answered"],
  [{ returnCode: {}, isVerified: false }, "a code is answered", "a code is answered"],
];

describe.each(sameNumber)("the same number again with %j", (mode, whenVerified, whenUnverified) => {
  test.each([
    [true, whenVerified],
    [false, whenUnverified],
  ])("where verified is %s: %s", async (isVerified, outcome) => {
    const { userId } = await person();
    const phone = newNumber();
    answered(await change(userId, { phone, ...(isVerified ? { isVerified } : { returnCode: {} }) }));
    const again = await change(userId, { phone, ...mode });
    if (outcome === "PHONE_UNCHANGED") {
      expect(refused(again)).toEqual([400, "PHONE_UNCHANGED"]);
      expect(await facts(userId)).toHaveLength(2);
    } else {
      expect(answered(again).details.sequence).toBe("3");
      expect(again.body.verificationCode !== undefined).toBe(outcome === "a code is answered");
    }
    const stays = outcome === "PHONE_UNCHANGED" || outcome === "verified";
    expect(await phoneOf(userId)).toMatchObject({ phone, phoneVerified: stays });
    expect(await sql`select from phone_codes where user_id = ${userId}`).toHaveLength(stays ? 0 : 1);
    const sends = await sql`select from phone_sends where phone = ${phone}`;
    expect(sends).toHaveLength(outcome === "a code is sent" ? 1 : 0);
    if (outcome === "a code is sent") answered(await verify(userId, codeIn(await lastSms(phone))));
    if (outcome === "a code is answered") answered(await verify(userId, again.body.verificationCode));
    if (!stays) expect((await phoneOf(userId)).phoneVerified).toBe(true);
  });
});

test("one may verify one's own number anew, and its codes are counted as any others", async () => {
  const { userId, client } = await person();
  const phone = newNumber();
  for (let sent = 0; sent < limits.phoneSendsPerUser; sent++) {
    answered(await change(userId, { phone, isVerified: true }));
    answered(await change(userId, { phone, sendCode: {} }, client));
  }
  answered(await change(userId, { phone, isVerified: true }));
  expect(refused(await change(userId, { phone, isVerified: false }, client))).toEqual([429, "SEND_LIMIT"]);
  expect((await phoneOf(userId)).phoneVerified).toBe(true);
});

test("a machine has no phone", async () => {
  const { userId } = await machine(postern);
  expect(refused(await change(userId, { phone: newNumber() }))).toEqual([400, "USER_NOT_HUMAN"]);
  expect(refused(await verify(userId, "234567"))).toEqual([400, "PHONE_MISSING"]);
  expect(refused(await resend(userId))).toEqual([400, "PHONE_MISSING"]);
});

test("five tries, also when they come at once, then the right code is worth nothing", async () => {
  const { userId } = await person();
  const code = answered(await change(userId, { phone: newNumber(), returnCode: {} })).verificationCode;
  const tries = await Promise.all(Array.from({ length: 12 }, () => verify(userId, wrong(code))));
  const reasons = tries.map((answer) => refused(answer).join(" ")).sort();
  expect(reasons).toEqual([...Array(5).fill("400 CODE_INVALID"), ...Array(7).fill("429 CODE_ATTEMPTS")]);
  const late = await verify(userId, code);
  expect(refused(late)).toEqual([429, "CODE_ATTEMPTS"]);
  expect(detail(late.body, "RetryInfo")).toBeDefined();
  const fresh = answered(await resend(userId, { returnCode: {} })).verificationCode;
  answered(await verify(userId, fresh));
});

test("a wrong code names its field, and a right one works once, also when it comes ten times at once", async () => {
  const { userId } = await person();
  const code = answered(await change(userId, { phone: newNumber(), returnCode: {} })).verificationCode;
  expect(fields(await verify(userId, wrong(code)))).toEqual(["verificationCode"]);
  const answers = await Promise.all(Array.from({ length: 4 }, () => verify(userId, code)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect((await facts(userId)).filter(({ type }) => type === "user.phone_verified")).toHaveLength(1);
});

test("a code is worth ten minutes", async () => {
  const { userId } = await person();
  const code = answered(await change(userId, { phone: newNumber(), returnCode: {} })).verificationCode;
  const [row] = await sql`
    update phone_codes set expiration_date = expiration_date - interval '10 minutes' where user_id = ${userId}
    returning abs(extract(epoch from expiration_date - now())) < 30 as ten`;
  expect(row?.ten).toBe(true);
  expect(refused(await verify(userId, code))).toEqual([400, "CODE_EXPIRED"]);
  await sql`delete from phone_codes where user_id = ${userId}`;
  expect(refused(await verify(userId, code))).toEqual([400, "CODE_EXPIRED"]);
});

test("a resent code replaces the one before", async () => {
  const { userId, client } = await person();
  const phone = newNumber();
  const old = answered(await change(userId, { phone, returnCode: {} })).verificationCode;
  expect(answered(await resend(userId, {}, client)).details).toMatchObject({ sequence: "3", creationDate: /Z$/ });
  const fresh = codeIn(await lastSms(phone));
  expect(refused(await verify(userId, old, client))).toEqual([400, "CODE_INVALID"]);
  answered(await verify(userId, fresh, client));
});

test("a removed phone is gone with its code; removing none changes nothing", async () => {
  const { userId } = await person();
  const before = answered(await postern.admin.delete(`/v1/users/${userId}/phone`)).details;
  expect(before.sequence).toBe("1");
  const code = answered(await change(userId, { phone: newNumber(), returnCode: {} })).verificationCode;
  expect(answered(await postern.admin.delete(`/v1/users/${userId}/phone`)).details.sequence).toBe("3");
  expect(await phoneOf(userId)).not.toHaveProperty("phone");
  expect(refused(await verify(userId, code))).toEqual([400, "PHONE_MISSING"]);
  expect(refused(await resend(userId))).toEqual([400, "PHONE_MISSING"]);
  expect(await sql`select from phone_codes where user_id = ${userId}`).toHaveLength(0);
});

const premium = "+19005551234";

test("a premium-rate number gets no SMS, whoever asks for it, and is kept where none is asked for", async () => {
  const { userId } = await person();
  for (const mode of [{}, { sendCode: {} }, { isVerified: false }]) {
    const no = await change(userId, { phone: premium, ...mode });
    expect([refused(no), fields(no)]).toEqual([[400, "PHONE_PREMIUM_RATE"], ["phone"]]);
  }
  const both = await change(userId, { phone: premium, sendCode: {}, returnCode: {} });
  expect([refused(both), fields(both)]).toEqual([
    [400, "VALIDATION_FAILED"],
    ["returnCode", "sendCode"],
  ]);
  const code = answered(await change(userId, { phone: ` ${premium} `, returnCode: {} })).verificationCode;
  const no = await resend(userId);
  expect([refused(no), fields(no)]).toEqual([[400, "PHONE_PREMIUM_RATE"], ["sendCode"]]);
  answered(await resend(userId, { returnCode: {} }));
  expect(refused(await verify(userId, code))).toEqual([400, "CODE_INVALID"]);
  answered(await change(userId, { phone: premium, isVerified: true }));
  const named = { username: `premium-${numbers}`, givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  const created = await postern.admin.post("/v1/users/human", { ...named, phone: premium });
  expect([refused(created), fields(created)]).toEqual([[400, "PHONE_PREMIUM_RATE"], ["phone"]]);
  expect(await sql`select from phone_sends where phone = ${premium}`).toHaveLength(0);
});

test("a deactivated user gets no SMS, and whoever asks is told", async () => {
  const { userId } = await person();
  const phone = newNumber();
  answered(await postern.admin.post(`/v1/users/${userId}:deactivate`));
  for (const mode of [{}, { sendCode: {} }, { isVerified: false }])
    expect(refused(await change(userId, { phone, ...mode }))).toEqual([400, "USER_INACTIVE"]);
  answered(await change(userId, { phone, returnCode: {} }));
  expect(refused(await resend(userId))).toEqual([400, "USER_INACTIVE"]);
  answered(await verify(userId, answered(await resend(userId, { returnCode: {} })).verificationCode));
  expect(refused(await change(userId, { phone, sendCode: {} }))).toEqual([400, "USER_INACTIVE"]);
  expect(refused(await change(userId, { phone }))).toEqual([400, "PHONE_UNCHANGED"]);
  answered(await postern.admin.post(`/v1/users/${userId}:reactivate`));
  answered(await change(userId, { phone, sendCode: {} }));
  answered(await verify(userId, codeIn(await lastSms(phone))));
});

test("a user gets so many codes an hour, whatever the numbers", async () => {
  const { userId, client } = await person();
  for (let sent = 0; sent < limits.phoneSendsPerUser; sent++)
    answered(await change(userId, { phone: newNumber() }, client));
  const no = await change(userId, { phone: newNumber() }, client);
  expect(refused(no)).toEqual([429, "SEND_LIMIT"]);
  expect(detail(no.body, "RetryInfo")).toMatchObject({ retryDelay: /^3[56]\d\ds$/ });
  expect(refused(await resend(userId, {}, client))).toEqual([429, "SEND_LIMIT"]);
  answered(await change(userId, { phone: newNumber(), returnCode: {} }));
  await sql`update phone_sends set time = time - interval '1 hour' where user_id = ${userId}`;
  answered(await resend(userId, {}, client));
});

test("a number gets so many codes an hour, whoever asks, also when they ask at once", async () => {
  const people = await Promise.all(Array.from({ length: 8 }, person));
  const phone = newNumber();
  const answers = await Promise.all(people.map(({ userId, client }) => change(userId, { phone }, client)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(limits.phoneSendsPerNumber);
  const refusals = answers.filter(({ status }) => status !== 200).map((answer) => refused(answer).join(" "));
  expect(new Set(refusals)).toEqual(new Set(["429 SEND_LIMIT"]));
  const username = `late-${people[0]?.username}`;
  const late = { username, givenName: "Late", familyName: "Comer", email: "late@example.com", phone };
  expect(refused(await postern.admin.post("/v1/users/human", late))).toEqual([429, "SEND_LIMIT"]);
});

test("a user created with a phone gets its code, and deleted, loses it", async () => {
  const phone = newNumber();
  const username = `phone-${numbers}`;
  const body = { username, givenName: "Ada", familyName: "Byron", email: "ada@example.com", phone: ` ${phone} ` };
  const { userId } = answered(await postern.admin.post("/v1/users/human", body));
  expect(await phoneOf(userId)).toMatchObject({ phone, phoneVerified: false });
  answered(await verify(userId, codeIn(await lastSms(phone))));
  answered(await change(userId, { phone: newNumber(), returnCode: {} }));
  answered(await postern.admin.delete(`/v1/users/${userId}`));
  expect(await sql`select from phone_codes where user_id = ${userId}`).toHaveLength(0);
  const bad = await postern.admin.post("/v1/users/human", { ...body, username: `${username}-b`, phone: "12345" });
  expect([refused(bad), fields(bad)]).toEqual([[400, "PHONE_INVALID"], ["phone"]]);
});

test("a code is in no event and in no table that is kept", async () => {
  const { userId, client } = await person();
  const phone = newNumber();
  answered(await change(userId, { phone }, client));
  const code = codeIn(await lastSms(phone));
  const returned = answered(await resend(userId, { returnCode: {} })).verificationCode;
  const tables = await sql<{ name: string }[]>`
    select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`;
  for (const { name } of tables) {
    const found = await sql.unsafe(`select from ${name} t where t::text like $1 or t::text like $2`, [
      `%${code}%`,
      `%${returned}%`,
    ]);
    expect([name, found.length]).toEqual([name, 0]);
  }
});

test("changes of one phone that come at once leave the code of the last one in force", async () => {
  const { userId } = await person();
  const changes = await Promise.all(
    Array.from({ length: 5 }, () => change(userId, { phone: newNumber(), returnCode: {} })),
  );
  const bodies = changes.map(answered);
  const last = bodies.find(({ details }) => details.sequence === "6");
  expect(new Set(bodies.map(({ details }) => details.sequence)).size).toBe(5);
  answered(await verify(userId, last.verificationCode));
});
