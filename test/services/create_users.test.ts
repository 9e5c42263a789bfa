import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, machine, organization, type Postern, startPostern } from "../harness.ts";

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
  expect(JSON.stringify(batch.body.outcomes[1])).toContain("is the same as that of items[0].machine.username");
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
