import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { type Answer, machine, type Postern, signedUp, startPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const limits = { mailSendsPerUser: 3, mailSendsPerAddress: 4, mailSendWindowSeconds: 3600 };

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

const newAddress = () => `ada.${randomBytes(6).toString("hex")}@example.com`;
const person = () => signedUp(postern);
const emailOf = async (userId: string) => (await postern.admin.get(`/v1/users/${userId}`)).body.user.human;
const change = (userId: string, body: object, by = postern.admin, headers: Record<string, string> = {}) =>
  by.post(`/v1/users/${userId}/email`, body, headers);
const verify = (userId: string, verificationCode: string, by = postern.admin) =>
  by.post(`/v1/users/${userId}/email:verify`, { verificationCode });
const resend = (userId: string, body: object = {}, by = postern.admin) =>
  by.post(`/v1/users/${userId}/email:resend`, body);

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
const code = /^[2-9B-Z]{6}$/m;
// Besides the one with the code, a user gets a notice of each change, sooner or later.
const lastMail = async (email: string) => (await mailsTo(postern, email, 1, code)).at(-1) ?? expect.unreachable();
const codeIn = (text: string) => code.exec(text)?.[0] ?? expect.unreachable(text);
/** Another code than this one. */
const wrong = (code: string) => (code.startsWith("2") ? "3" : "2") + code.slice(1);

test("a changed address is unverified until the code from the mail is typed, however it is typed", async () => {
  const { userId, client } = await person();
  const email = newAddress();
  expect(await emailOf(userId)).toMatchObject({ emailVerified: false });
  const { details, verificationCode } = answered(await change(userId, { email, sendCode: {} }, client));
  expect(verificationCode).toBeUndefined();
  expect(Object.keys(details).sort()).toEqual(["changeDate", "resourceOwner", "sequence"]);
  expect(await emailOf(userId)).toMatchObject({ email, emailVerified: false });

  const { text, html, subject } = await lastMail(email);
  const code = codeIn(text);
  expect(subject).toBe(mailTexts.verify_email.en.subject);
  expect(html).toContain(code);
  const typed = ` ${code.slice(0, 3).toLowerCase()}-${code.slice(3)} `;
  expect(answered(await verify(userId, typed, client)).details).toMatchObject({ sequence: "3", creationDate: /Z$/ });
  expect(await emailOf(userId)).toMatchObject({ email, emailVerified: true });
  expect(refused(await verify(userId, code, client))).toEqual([400, "EMAIL_VERIFIED"]);
  expect(refused(await resend(userId, {}, client))).toEqual([400, "EMAIL_VERIFIED"]);
});

test("a mail is in the language of the call", async () => {
  const { userId, client } = await person();
  const email = newAddress();
  answered(await change(userId, { email }, client, { "accept-language": "de-CH, en;q=0.5" }));
  expect((await lastMail(email)).subject).toBe(mailTexts.verify_email.de.subject);
});

test("a code that is answered is not mailed, and no event holds it", async () => {
  const { userId } = await person();
  const email = newAddress();
  const { verificationCode } = answered(await change(userId, { email, returnCode: {} }));
  expect(verificationCode).toMatch(/^[2-9B-Z]{6}$/);
  expect((await facts(userId)).at(-1)).toEqual({ type: "user.email_changed", payload: { email, verified: false } });
  expect(await sql`select from mail_sends where email = ${email}`).toHaveLength(0);
  expect(await sql`select from mail_messages where email = ${email}`).toHaveLength(0);
  answered(await verify(userId, verificationCode));
});

for (const [modes, named] of [
  [{ sendCode: {}, returnCode: {} }, ["returnCode", "sendCode"]],
  [{ sendCode: {}, isVerified: true }, ["isVerified", "sendCode"]],
  [{ returnCode: {}, isVerified: true }, ["isVerified", "returnCode"]],
] as const)
  test(`${named.join(" and ")} exclude each other, and both are named`, async () => {
    const { userId } = await person();
    const no = await change(userId, { email: newAddress(), ...modes });
    expect([refused(no), fields(no)]).toEqual([[400, "VALIDATION_FAILED"], named]);
    const also = await change(userId, { email: "ada@", ...modes });
    expect(fields(also)).toEqual(["email", ...named].sort());
  });

test("one may change one's own address, but neither call it verified nor see the code", async () => {
  const { userId, client } = await person();
  const email = newAddress();
  for (const mode of [{ isVerified: true }, { isVerified: false, returnCode: {} }, { returnCode: {} }])
    expect((await change(userId, { email, ...mode }, client)).status).toBe(403);
  answered(await change(userId, { email }, client));
  expect((await resend(userId, { returnCode: {} }, client)).status).toBe(403);
  answered(await resend(userId, {}, client));
});

test.each([
  "ada",
  "ada@",
  "@example.com",
  "Ada <ada@example.com>",
  "ada@example.com\r\nBcc: eve@example.com",
  "ada@example.com,eve@example.com",
  '"a b"@example.com',
  "ada@bücher.example",
  `ada@${"a".repeat(64)}.example`,
  `${"a".repeat(65)}@example.com`,
  ".ada@example.com",
  "a..da@example.com",
  "ada.@example.com",
])("%j is refused by its field", async (email) => {
  const { userId } = await person();
  const no = await change(userId, { email, returnCode: {} });
  expect([no.status, fields(no)]).toEqual([400, ["email"]]);
  const username = `u-${randomBytes(6).toString("hex")}`;
  const created = await postern.admin.post("/v1/users/human", { username, givenName: "A", familyName: "B", email });
  expect([created.status, fields(created)]).toEqual([400, ["email"]]);
});

test("a domain with other letters is taken in its ASCII form", async () => {
  const { userId } = await person();
  answered(await change(userId, { email: " o'neil+x@xn--bcher-kva.example ", isVerified: true }));
  expect(await emailOf(userId)).toMatchObject({ email: "o'neil+x@xn--bcher-kva.example", emailVerified: true });
});

type Outcome = "verified" | "a code is sent" | "a code is answered" | "EMAIL_UNCHANGED";

/** The outcome of setting the same address in each mode, for a verified address and for an unverified one. */
const sameAddress: readonly [mode: object, whenVerified: Outcome, whenUnverified: Outcome][] = [
  [{}, "EMAIL_UNCHANGED", "a code is sent"],
  [{ isVerified: true }, "EMAIL_UNCHANGED", "verified"],
  [{ isVerified: false }, "a code is sent", "a code is sent"],
  [{ sendCode: {} }, "a code is sent", "a code is sent"],
  [{ returnCode: {} }, "a code is answered", "a code is answered"],
];

describe.each(sameAddress)("the same address again with %j", (mode, whenVerified, whenUnverified) => {
  test.each([
    [true, whenVerified],
    [false, whenUnverified],
  ])("where verified is %s: %s", async (isVerified, outcome) => {
    const { userId } = await person();
    const email = newAddress();
    answered(await change(userId, { email, ...(isVerified ? { isVerified } : { returnCode: {} }) }));
    const again = await change(userId, { email, ...mode });
    if (outcome === "EMAIL_UNCHANGED") expect(refused(again)).toEqual([400, "EMAIL_UNCHANGED"]);
    else expect(answered(again).verificationCode !== undefined).toBe(outcome === "a code is answered");
    const stays = outcome === "EMAIL_UNCHANGED" || outcome === "verified";
    expect(await emailOf(userId)).toMatchObject({ email, emailVerified: stays });
    expect(await sql`select from mail_codes where user_id = ${userId}`).toHaveLength(stays ? 0 : 1);
    if (outcome === "a code is sent") answered(await verify(userId, codeIn((await lastMail(email)).text)));
    if (outcome === "a code is answered") answered(await verify(userId, again.body.verificationCode));
    if (!stays) expect((await emailOf(userId)).emailVerified).toBe(true);
  });
});

test("the same address in another case keeps its verification, unless the request asks for a code", async () => {
  const { userId } = await person();
  const email = newAddress();
  const loud = email.toUpperCase();
  answered(await change(userId, { email, isVerified: true }));
  expect(answered(await change(userId, { email: loud })).verificationCode).toBeUndefined();
  expect(await emailOf(userId)).toMatchObject({ email: loud, emailVerified: true });
  expect(await sql`select from mail_codes where user_id = ${userId}`).toHaveLength(0);
  expect(refused(await change(userId, { email: loud }))).toEqual([400, "EMAIL_UNCHANGED"]);
  answered(await change(userId, { email, returnCode: {} }));
  expect(await emailOf(userId)).toMatchObject({ email, emailVerified: false });
  answered(await change(userId, { email: loud, returnCode: {} }));
  expect(await emailOf(userId)).toMatchObject({ email: loud, emailVerified: false });
});

test("five tries, also when they come at once, then the right code is worth nothing", async () => {
  const { userId } = await person();
  const code = answered(await change(userId, { email: newAddress(), returnCode: {} })).verificationCode;
  const tries = await Promise.all(Array.from({ length: 12 }, () => verify(userId, wrong(code))));
  const reasons = tries.map((answer) => refused(answer).join(" ")).sort();
  expect(reasons).toEqual([...Array(5).fill("400 CODE_INVALID"), ...Array(7).fill("429 CODE_ATTEMPTS")]);
  expect(refused(await verify(userId, code))).toEqual([429, "CODE_ATTEMPTS"]);
  const fresh = answered(await resend(userId, { returnCode: {} })).verificationCode;
  answered(await verify(userId, fresh));
});

test("a right code works once, also when it comes several times at once", async () => {
  const { userId } = await person();
  const code = answered(await change(userId, { email: newAddress(), returnCode: {} })).verificationCode;
  expect(fields(await verify(userId, wrong(code)))).toEqual(["verificationCode"]);
  const answers = await Promise.all(Array.from({ length: 4 }, () => verify(userId, code)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect((await facts(userId)).filter(({ type }) => type === "user.email_verified")).toHaveLength(1);
});

test("a code is worth an hour, and of two the later one", async () => {
  const { userId } = await person();
  const old = answered(await change(userId, { email: newAddress(), returnCode: {} })).verificationCode;
  const fresh = answered(await resend(userId, { returnCode: {} })).verificationCode;
  expect(refused(await verify(userId, old))).toEqual([400, "CODE_INVALID"]);
  const [row] = await sql`
    update mail_codes set expiration_date = expiration_date - interval '1 hour' where user_id = ${userId}
    returning abs(extract(epoch from expiration_date - now())) < 60 as hour`;
  expect(row?.hour).toBe(true);
  expect(refused(await verify(userId, fresh))).toEqual([400, "CODE_EXPIRED"]);
});

test("mails are limited for a user, and for an address whatever its case", async () => {
  const { userId, client } = await person();
  for (let sent = 0; sent < limits.mailSendsPerUser; sent++)
    answered(await change(userId, { email: newAddress() }, client));
  const late = await change(userId, { email: newAddress() }, client);
  expect(refused(late)).toEqual([429, "SEND_LIMIT"]);
  expect(detail(late.body, "RetryInfo")).toBeDefined();
  answered(await change(userId, { email: newAddress(), returnCode: {} }));

  const email = newAddress();
  for (let sent = 0; sent < limits.mailSendsPerAddress; sent++)
    answered(await change((await person()).userId, { email: sent % 2 ? email.toUpperCase() : email }));
  expect(refused(await change((await person()).userId, { email }))).toEqual([429, "SEND_LIMIT"]);
});

test("a machine has no address, and a deactivated user gets no mail", async () => {
  const { userId } = await machine(postern);
  expect(refused(await change(userId, { email: newAddress() }))).toEqual([400, "USER_NOT_HUMAN"]);
  expect(refused(await verify(userId, "234567"))).toEqual([400, "USER_NOT_HUMAN"]);
  expect(refused(await resend(userId))).toEqual([400, "USER_NOT_HUMAN"]);
  const inactive = (await person()).userId;
  answered(await postern.admin.post(`/v1/users/${inactive}:deactivate`));
  expect(refused(await change(inactive, { email: newAddress() }))).toEqual([400, "USER_INACTIVE"]);
  answered(await change(inactive, { email: newAddress(), isVerified: true }));
});

test("the code of an address goes with its user", async () => {
  const { userId } = await person();
  answered(await change(userId, { email: newAddress(), returnCode: {} }));
  answered(await postern.admin.delete(`/v1/users/${userId}`));
  expect(await sql`select from mail_codes where user_id = ${userId}`).toHaveLength(0);
});

test("no event and no table but that of codes holds a code that was mailed", async () => {
  const { userId, client } = await person();
  const email = newAddress();
  answered(await change(userId, { email }, client));
  const code = codeIn((await lastMail(email)).text);
  await vi.waitFor(
    async () => expect(await sql`select from mail_messages where email = ${email}`).toHaveLength(0),
    60_000,
  );
  const found = await sql`select from events where position(${code} in payload::text) > 0 and stream = ${userId}`;
  expect(found).toHaveLength(0);
});

const newcomer = (more: object = {}) => ({
  ...{ username: `new-${randomBytes(6).toString("hex")}`, givenName: "Ada", familyName: "Byron", email: newAddress() },
  ...more,
});
const create = (person: object, headers: Record<string, string> = {}) =>
  postern.admin.post("/v1/users/human", person, headers);
const sentTo = (email: string) => sql`select from mail_sends where email = ${email.toLowerCase()}`;

test.each([
  ["without a password", {}],
  ["with one", { password: "Blue-Kettle-42" }],
])("a new user %s gets the mail whose code verifies the address", async (_, more) => {
  const person = newcomer(more);
  const { userId } = answered(await create(person, { "accept-language": "fr" }));
  const mail = await lastMail(person.email);
  expect(mail.subject).toBe(mailTexts.verify_email.fr.subject);
  expect((await facts(userId))[0]?.payload).toMatchObject({ emailCodeId: expect.any(String) });
  answered(await verify(userId, codeIn(mail.text)));
  expect(await emailOf(userId)).toMatchObject({ emailVerified: true });
});

test("an address that is marked as verified at creation is, and gets no mail", async () => {
  const person = newcomer({ isEmailVerified: true });
  const { userId } = answered(await create(person));
  expect(await emailOf(userId)).toMatchObject({ emailVerified: true });
  expect(await sentTo(person.email)).toHaveLength(0);
  expect(refused(await resend(userId))).toEqual([400, "EMAIL_VERIFIED"]);
});

test("beyond the sending limits users are created, and no mail goes out; also when they come at once", async () => {
  const email = newAddress();
  const made = await Promise.all(Array.from({ length: 12 }, () => create(newcomer({ email }))));
  for (const one of made) answered(one);
  for (let n = 0; n < limits.mailSendsPerAddress; n++) answered(await create(newcomer({ email })));
  expect(await sentTo(email)).toHaveLength(limits.mailSendsPerAddress);
});

test("a batch mails codes when it is asked to, one to an address, and none to verified ones", async () => {
  const [silent, one, proven] = [newcomer(), newcomer(), newcomer({ isEmailVerified: true })];
  // Before the other one by its name, and after it in the batch.
  const twin = newcomer({ username: `a${one.username}`, email: one.email.toUpperCase() });
  const batch = (people: object[], more: object = {}) =>
    postern.admin.post("/v1/users:batchCreate", { items: people.map((human) => ({ human })), ...more });
  answered(await batch([silent]));
  const { outcomes } = answered(await batch([one, proven, twin], { sendEmailCodes: true }));
  expect(await sentTo(silent.email)).toHaveLength(0);
  expect(await sentTo(proven.email)).toHaveLength(0);
  expect(await sentTo(one.email)).toHaveLength(1);
  answered(await verify(outcomes[0].created.userId, codeIn((await lastMail(one.email)).text)));
  expect(await emailOf(outcomes[1].created.userId)).toMatchObject({ emailVerified: true });
});

test("batches for the same addresses at once create everybody, within the limits", async () => {
  const emails = Array.from({ length: 5 }, newAddress);
  const all = await Promise.all(
    Array.from({ length: 6 }, () => {
      const items = emails.map((email) => ({ human: newcomer({ email }) }));
      return postern.admin.post("/v1/users:batchCreate", { items, sendEmailCodes: true });
    }),
  );
  for (const one of all)
    expect(answered(one).outcomes.every(({ created }: { created?: object }) => created)).toBe(true);
  for (const email of emails) {
    const sends = (await sentTo(email)).length;
    expect(sends).toBeGreaterThan(0);
    expect(sends).toBeLessThanOrEqual(limits.mailSendsPerAddress);
  }
});
