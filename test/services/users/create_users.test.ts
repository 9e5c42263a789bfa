import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { errorText } from "../../../src/messages/catalogue.ts";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { base32Bytes, totpCode, totpStep } from "../../../src/security/totp.ts";
import { oneConnection } from "../../events/log_of.ts";
import { enrolTotp } from "../../fixture/factors.ts";
import { type Answer, machine, organization, type Postern, startPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern[Symbol.asyncDispose]());

const named = (what = "u") => `${what}-${randomBytes(6).toString("hex")}`;
const robot = (more: object = {}) => ({ machine: { username: named("robot"), name: "Robot", ...more } });
const human = (more: object = {}) => ({
  human: { username: named(), givenName: "Ada", familyName: "Byron", email: "ada@example.com", ...more },
});
const create = (items: readonly object[], more: object = {}, headers: Record<string, string> = {}) =>
  postern.admin.post("/v1/users:batchCreate", { items, ...more }, headers);

type Outcome = { created?: { userId: string }; refused?: { details: { reason?: string }[] } };
const reasonIn = (details: { reason?: string }[]) => details.find(({ reason }) => reason)?.reason;
const outcomesOf = ({ status, body }: Answer): string[] => {
  expect(status, JSON.stringify(body)).toBe(200);
  return body.outcomes.map(({ refused }: Outcome) => (refused ? reasonIn(refused.details) : "created"));
};
const refusal = ({ status, body }: Answer) => [status, reasonIn(body.details ?? [])];
const signIn = (loginName: string, password: string) => postern.as().post("/v1/sessions", { loginName, password });

test("humans and machines are created together, each with its own outcome in the order of the items", async () => {
  const taken = human();
  await create([taken]);
  const items = [human({ phone: "+41446681800" }), taken, robot(), human({ password: "short" })];
  const batch = await create(items);
  expect(outcomesOf(batch)).toEqual(["created", "LOGIN_NAME_TAKEN", "created", "PASSWORD_POLICY"]);
  const { userId } = batch.body.outcomes[0].created;
  const { user } = (await postern.admin.get(`/v1/users/${userId}`)).body;
  expect(user.human).toMatchObject({ phone: "+41446681800", phoneVerified: false });
  expect(user.details.sequence).toBe("1");
});

test("a password of the batch signs in", async () => {
  const { human: person } = human({ password: "Blue-Kettle-42" });
  expect(outcomesOf(await create([{ human: person }]))).toEqual(["created"]);
  expect((await signIn(person.username, "Blue-Kettle-42")).status).toBe(200);
});

test("an item that repeats the name or the id of an earlier one is refused and names it", async () => {
  const [first, userId] = [robot(), named()];
  const again = { human: { ...human().human, username: first.machine.username.toUpperCase() } };
  const batch = await create([first, again, robot({ userId }), robot({ userId })]);
  expect(outcomesOf(batch)).toEqual(["created", "VALIDATION_FAILED", "created", "VALIDATION_FAILED"]);
  expect(JSON.stringify(batch.body.outcomes[1])).toContain(
    errorText("ITEM_REPEATED", { other: "items[0].machine.username" }),
  );
  expect(JSON.stringify(batch.body.outcomes[3])).toContain("items[3].machine.userId");
});

test("all or nothing creates nobody when one is refused, and lists every refused item", async () => {
  const [taken, fine] = [robot(), robot()];
  await create([taken]);
  const batch = await create([fine, taken, human({ password: "short" })], { allOrNothing: true });
  expect(refusal(batch)).toEqual([409, "LOGIN_NAME_TAKEN"]);
  expect(JSON.stringify(batch.body)).toContain("items[2].human.password");
  expect(outcomesOf(await create([fine]))).toEqual(["created"]);
});

test("the fiftieth password in plain text is hashed, the next one refused", async () => {
  const batch = await create(Array.from({ length: 51 }, () => human({ password: "Blue-Kettle-42" })));
  expect(refusal(batch)).toEqual([400, "VALIDATION_FAILED"]);
  expect(JSON.stringify(batch.body)).toContain("items[50].human.password");
  expect(JSON.stringify(batch.body)).not.toContain("items[49]");
});

/** The fields and rules that the outcomes of a batch say are broken. */
const brokenIn = ({ body }: Answer): string[] =>
  body.outcomes.flatMap(({ refused }: { refused?: { details: { fieldViolations?: Broken[] }[] } }) =>
    (refused?.details ?? []).flatMap(({ fieldViolations = [] }) =>
      fieldViolations.map(({ field, reason }) => `${field} ${reason}`),
    ),
  );
type Broken = { field: string; reason: string };

const malformed = () => [
  human({ email: "nobody" }),
  robot(),
  {},
  human({ username: "a\u0000b", password: "short" }),
  robot({ userId: "a b" }),
  human({ phone: "12" }),
  robot({ username: "" }),
];
const outcomes = [
  ...["VALIDATION_FAILED", "created", "VALIDATION_FAILED", "VALIDATION_FAILED", "VALIDATION_FAILED", "PHONE_INVALID"],
  "VALIDATION_FAILED",
];

test("a malformed item is an outcome of that item, with what is wrong with it", async () => {
  const batch = await create(malformed(), {}, { "accept-language": "de" });
  expect(outcomesOf(batch)).toEqual(outcomes);
  const broken = brokenIn(batch);
  expect([...new Set(broken.map((one) => one.split(" ")[0]))]).toEqual([
    ...["items[0].human.email", "items[2]", "items[3].human.username", "items[3].human.password"],
    ...["items[4].machine.userId", "items[5].human.phone", "items[6].machine.username"],
  ]);
  expect(broken).toContain("items[3].human.username STRING_NULL_CHARACTER");
  expect(broken).toContain("items[6].machine.username REQUIRED");
  expect(batch.body.outcomes[0].refused.details.some(({ locale }: { locale?: string }) => locale === "de")).toBe(true);
});

test("a malformed item whose name is taken says both", async () => {
  const taken = robot();
  await create([taken]);
  const again = human({ username: taken.machine.username, email: "nobody" });
  const batch = await create([again]);
  expect(outcomesOf(batch)).toEqual(["VALIDATION_FAILED"]);
  expect(brokenIn(batch).map((one) => one.split(" ")[0])).toEqual(["items[0].human.email", "items[0].human.username"]);
});

test("all or nothing is refused for a malformed item, and creates nobody", async () => {
  const fine = robot();
  const batch = await create([fine, human({ email: "nobody" })], { allOrNothing: true });
  expect(refusal(batch)).toEqual([400, "VALIDATION_FAILED"]);
  expect(JSON.stringify(batch.body)).toContain("items[1].human.email");
  expect(outcomesOf(await create([fine]))).toEqual(["created"]);
});

test("what is wrong with a request as a whole refuses it, malformed items or not", async () => {
  const passwords = Array.from({ length: 51 }, () => human({ password: "Blue-Kettle-42" }));
  for (const items of [
    [human({ email: "nobody" }), ...passwords],
    [robot({ name: "\u0000" }), ...passwords],
  ])
    expect(refusal(await create(items))).toEqual([400, "VALIDATION_FAILED"]);
  const many = await create(Array.from({ length: 501 }, () => robot({ name: "" })));
  expect(refusal(many)).toEqual([400, "VALIDATION_FAILED"]);
  expect(refusal(await create([robot({ name: "" }), { robot: {} }]))).toEqual([400, "VALIDATION_FAILED"]);
});

test("of items that are all malformed each has its outcome, and together they list a hundred violations", async () => {
  const batch = await create(Array.from({ length: 500 }, () => human({ givenName: "\u0000", familyName: "\u0000" })));
  expect(outcomesOf(batch)).toEqual(Array.from({ length: 500 }, () => "VALIDATION_FAILED"));
  expect(brokenIn(batch)).toHaveLength(100);
});

test("a key answers again for malformed items, and who may not create users learns nothing", async () => {
  const headers = { "idempotency-key": named("key") };
  const items = malformed();
  const first = await create(items, {}, headers);
  expect(outcomesOf(first)).toEqual(outcomes);
  expect((await create(items, {}, headers)).body).toEqual(first.body);
  const { client } = await machine(postern);
  const stranger = await client.post("/v1/users:batchCreate", { items });
  expect(refusal(stranger)).toEqual([403, "PERMISSION_DENIED"]);
});

test("five hundred items with long names fit into one request", async () => {
  const items = Array.from({ length: 500 }, () => human({ givenName: "a".repeat(200), familyName: "b".repeat(200) }));
  expect(new Set(outcomesOf(await create(items)))).toEqual(new Set(["created"]));
});

test("two batches with the same names create each user once", async () => {
  for (let round = 0; round < 5; round++) {
    const items = Array.from({ length: 40 }, () => robot());
    const both = await Promise.all([create(items), create(items.toReversed())]);
    const [one, other] = both.map(outcomesOf);
    const reversed = other?.toReversed() ?? [];
    expect(one?.map((outcome, n) => [outcome, reversed[n]].sort())).toEqual(
      items.map(() => ["LOGIN_NAME_TAKEN", "created"]),
    );
  }
});

test("an id that a user brings is its own, and nothing gets it again after the user is deleted", async () => {
  const userId = named("Its-Own_id");
  expect((await create([robot({ userId })])).body.outcomes[0].created.userId).toBe(userId);
  await postern.admin.delete(`/v1/users/${userId}`);
  const elsewhere = { "x-service-orgid": await organization(postern) };
  expect(outcomesOf(await create([robot({ userId })], {}, elsewhere))).toEqual(["ID_TAKEN"]);
  const alone = await postern.admin.post("/v1/users/machine", { ...robot({ userId }).machine }, elsewhere);
  expect(refusal(alone)).toEqual([409, "ID_TAKEN"]);
});

test("the id of anything else, in whatever organization, is refused", async () => {
  const { userId, tokenId } = await machine(postern, { organizationId: await organization(postern) });
  const ids = [userId, tokenId, postern.organizationId, postern.adminId];
  expect(outcomesOf(await create(ids.map((id) => robot({ userId: id }))))).toEqual(ids.map(() => "ID_TAKEN"));
});

test("of two users who bring one id at the same time, one gets it", async () => {
  const others = { "x-service-orgid": await organization(postern) };
  for (let round = 0; round < 20; round++) {
    const userId = named("raced");
    const both = await Promise.all([create([robot({ userId })]), create([robot({ userId })], {}, others)]);
    expect(both.flatMap(outcomesOf).sort()).toEqual(["ID_TAKEN", "created"]);
  }
});

test("a repeated request with a key gets the first answer", async () => {
  const items = [robot(), human()];
  const headers = { "idempotency-key": named("key") };
  const first = await create(items, {}, headers);
  expect((await create(items, {}, headers)).body).toEqual(first.body);
});

const secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const factors = async (userId: string) => (await postern.admin.get(`/v1/users/${userId}/factors`)).body.factors;

/** Creates a person by each way of creation. */
const ways = [
  ["alone", async (person: object) => (await postern.admin.post("/v1/users/human", person)).body.userId as string],
  [
    "in a batch",
    async (person: object) => (await create([{ human: person }])).body.outcomes[0].created.userId as string,
  ],
] as const;

test.each(ways)("an app that a user brings, created %s, is asked for at the first sign-in", async (_, make) => {
  const { human: person } = human({ password: "Blue-Kettle-42", totpSecret: secret });
  const userId = await make(person);
  expect(await factors(userId)).toMatchObject([{ kind: "FACTOR_KIND_TOTP" }]);
  const first = await signIn(person.username, "Blue-Kettle-42");
  expect([first.status, first.body.token]).toEqual([200, ""]);
  const complete = (code: string) =>
    postern.as().post("/v1/sessions:complete", { pendingToken: first.body.pending.token, totpCode: code });
  const right = totpCode(base32Bytes(secret), totpStep(new Date()));
  expect((await complete(right === "000000" ? "111111" : "000000")).status).toBe(400);
  expect((await complete(right)).status).toBe(200);
});

test("no event holds the secret of an app, and no table in plain text", async () => {
  const { human: person } = human({ totpSecret: secret });
  const userId = (await create([{ human: person }])).body.outcomes[0].created.userId;
  const { events } = (await postern.admin.get("/v1/events?pageSize=1000")).body;
  expect(JSON.stringify(events)).not.toContain(secret);
  const sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, console), max: 1 });
  const [row] = await sql<{ sealed: Buffer }[]>`select sealed from factor_secrets where user_id = ${userId}`;
  const [log] = await sql`select count(*)::integer as n from events where payload::text like ${`%${secret}%`}`;
  await sql.end();
  expect([row?.sealed.includes(base32Bytes(secret)), log?.n]).toEqual([false, 0]);
});

test.each([["SHORT"], ["not base32!!!!!!!!"], ["A".repeat(129)]])("the secret %s is refused", async (totpSecret) => {
  const alone = await postern.admin.post("/v1/users/human", human({ totpSecret }).human);
  expect([refusal(alone), JSON.stringify(alone.body)]).toEqual([
    [400, "VALIDATION_FAILED"],
    expect.stringContaining("totpSecret"),
  ]);
});

test.each(ways)("a user who has to have a factor, created %s, enrols one before anything else", async (_, make) => {
  const off = { policy: { requirement: "FACTOR_REQUIREMENT_OFF" } };
  expect((await postern.admin.put("/v1/policies/factor", off)).status).toBe(200);
  const { human: person } = human({ password: "Blue-Kettle-42", requiresFactor: true });
  const userId = await make(person);
  expect((await postern.admin.get(`/v1/users/${userId}`)).body.user.human.requiresFactor).toBe(true);
  const { body } = await signIn(person.username, "Blue-Kettle-42");
  expect(body.enrolmentOnly).toBe(true);
  const client = postern.as(body.token);
  expect((await client.get("/v1/users/me/tokens")).status).toBe(403);
  // Though no other user may enrol one.
  await enrolTotp(client);
  expect((await client.get("/v1/users/me/tokens")).status).toBe(200);
  expect((await postern.admin.delete("/v1/policies/factor")).status).toBe(200);
});

test.each(ways)("a password that has to be changed, created %s, is changed at the first sign-in", async (_, make) => {
  const { human: person } = human({ passwordHash: bcrypt, passwordChangeRequired: true });
  await make(person);
  expect(refusal(await signIn(person.username, "password"))).toEqual([400, "PASSWORD_CHANGE_REQUIRED"]);
  const change = { loginName: person.username, password: "password", newPassword: "Green-Teapot-77" };
  expect((await postern.as().post("/v1/sessions", change)).status).toBe(200);
  expect((await signIn(person.username, "Green-Teapot-77")).status).toBe(200);
});

test.each(ways)("a user who is inactive from the beginning, created %s, never signs in before", async (_, make) => {
  const { human: person } = human({ password: "Blue-Kettle-42", inactive: true, phone: "+41446681800" });
  const attempt = async () => (await signIn(person.username, "Blue-Kettle-42")).status;
  const [userId, ...meanwhile] = await Promise.all([make(person), attempt(), attempt(), attempt()]);
  expect([...meanwhile, await attempt()]).toEqual([401, 401, 401, 401]);
  const { user } = (await postern.admin.get(`/v1/users/${userId}`)).body;
  expect([user.state, user.details.sequence]).toEqual(["USER_STATE_INACTIVE", "1"]);
  // One fact made it so: there is no version of it that was active.
  expect((await postern.admin.post(`/v1/users/${userId}:reactivate`)).status).toBe(200);
  expect(await attempt()).toBe(200);
});

test("a machine that is inactive from the beginning is so when the log is replayed", async () => {
  const alone = await postern.admin.post("/v1/users/machine", { ...robot().machine, inactive: true });
  const batch = await create([robot({ inactive: true }), robot()]);
  const ids = [alone.body.userId, ...batch.body.outcomes.map(({ created }: Outcome) => created?.userId)];
  const users = await Promise.all(ids.map(async (id) => (await postern.admin.get(`/v1/users/${id}`)).body.user));
  expect(users.map(({ state }) => state)).toEqual([
    ...["USER_STATE_INACTIVE", "USER_STATE_INACTIVE", "USER_STATE_ACTIVE"],
  ]);
  await using client = oneConnection(postern.databaseUrl);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});

// The password is "password".
const bcrypt = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.aDV7CQarKHMuNfh2oJkFzsHZya4whFe";
