import { afterAll, beforeAll, expect, test } from "vitest";
import { codeOf } from "../../fixture/authenticator.ts";
import { openClient } from "../../fixture/database_client.ts";
import { enrolTotp, pendingOf } from "../../fixture/factors.ts";
import { type Answer, machine, organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const read = async (userId: string, headers = {}) => done(await postern.admin.get(`/v1/users/${userId}`, headers));
const timeOf = (text: string) => new Date(text).getTime();

/** A person without a password, invited to choose one; the code that does it. */
async function invited(organizationId: string) {
  const person = {
    username: `guest-${Math.random()}`,
    givenName: "Grace",
    familyName: "Hopper",
    email: "g@example.com",
  };
  const { userId } = done(await postern.admin.post("/v1/users/human", person, inside(organizationId)));
  const { verificationCode: code } = done(await postern.admin.post(`/v1/users/${userId}:invite`, { returnCode: {} }));
  const accept = () =>
    postern.as().post("/v1/password-resets:complete", { verificationCode: code, newPassword: "Blue-Kettle-42" });
  return { userId: userId as string, accept };
}

test("an administrator sees how somebody signs in: when last, the password's age, factors, and a pending invitation", async () => {
  const before = Date.now();
  const person = await signedUp(postern);
  const { user, signIn } = await read(person.userId);
  for (const date of [signIn.lastSignInDate, signIn.passwordChangeDate])
    expect(timeOf(date)).toBeGreaterThanOrEqual(before - 1);
  expect(timeOf(signIn.lastSignInDate)).toBeGreaterThanOrEqual(timeOf(signIn.passwordChangeDate));
  expect([signIn.factors ?? [], signIn.invitationPending ?? false]).toEqual([[], false]);
  expect(user).not.toHaveProperty("lockedUntil");
  expect(done(await person.client.get("/v1/sessions")).sessions).toHaveLength(1);

  const { factorId, secret } = await enrolTotp(person.client);
  done(await postern.admin.delete(`/v1/users/${person.userId}/sessions`));
  const ended = await read(person.userId);
  expect(ended.signIn).toMatchObject({ lastSignInDate: signIn.lastSignInDate, factors: ["FACTOR_KIND_TOTP"] });
  await using database = openClient(postern.databaseUrl);
  await database.client`update factor_secrets set last_step = 0 where factor_id = ${factorId}`;
  const { token } = await pendingOf(postern, person);
  expect((await read(person.userId)).signIn).toEqual(ended.signIn);
  done(await postern.as().post("/v1/sessions:complete", { pendingToken: token, totpCode: codeOf(secret, 0) }));
  const again = await read(person.userId);
  expect(timeOf(again.signIn.lastSignInDate)).toBeGreaterThan(timeOf(signIn.lastSignInDate));
  expect(again.signIn.passwordChangeDate).toBe(signIn.passwordChangeDate);

  const until = "2100-01-01T00:00:00Z";
  await database.client`update users set locked = true, locked_until = ${until} where user_id = ${person.userId}`;
  expect((await read(person.userId)).user).toMatchObject({ state: "USER_STATE_LOCKED", lockedUntil: until });
  const robot = await machine(postern);
  expect(await read(robot.userId)).not.toHaveProperty("signIn");
});

test("an invitation is pending until it is used or expires", async () => {
  const guest = await invited(postern.organizationId);
  const pending = async () => (await read(guest.userId)).signIn.invitationPending ?? false;
  expect(await pending()).toBe(true);
  expect((await read(guest.userId)).signIn).not.toHaveProperty("passwordChangeDate");
  await using database = openClient(postern.databaseUrl);
  const ends = (end: string) =>
    database.client`update mail_codes set expiration_date = ${end} where user_id = ${guest.userId}`;
  await ends("2001-01-01T00:00:00Z");
  expect(await pending()).toBe(false);
  await ends("2100-01-01T00:00:00Z");
  expect(await pending()).toBe(true);
  done(await guest.accept());
  expect(await pending()).toBe(false);
  expect((await read(guest.userId)).signIn).toHaveProperty("passwordChangeDate");
  expect((await read(guest.userId)).signIn).not.toHaveProperty("lastSignInDate");
});

test("lists find people by how they sign in, alone and together, in every order", async () => {
  const organizationId = await organization(postern);
  const [one, other] = [await signedUp(postern, { organizationId }), await signedUp(postern, { organizationId })];
  const [guest, robot] = [await invited(organizationId), await machine(postern, { organizationId })];
  await enrolTotp(one.client);
  await using database = openClient(postern.databaseUrl);
  const old = "2001-01-01T00:00:00Z";
  await database.client`update users set email_verified = true where user_id = ${one.userId}`;
  await database.client`update users set phone = '+41446681800', phone_verified = true where user_id = ${other.userId}`;
  await database.client`update passwords set changed = ${old}, last_sign_in = ${old} where user_id = ${other.userId}`;
  await database.client`delete from sessions where user_id = ${other.userId}`;
  const names = new Map(Object.entries({ one, other, guest, robot }).map(([name, { userId }]) => [userId, name]));
  const listed = async (filter: Record<string, string>, order = "") => {
    const query = new URLSearchParams({ order: order || "NAME_ORDER_UNSPECIFIED" });
    for (const [name, value] of Object.entries(filter)) query.set(`filter.${name}`, value);
    const { users } = done(await postern.admin.get(`/v1/users?${query}`, inside(organizationId)));
    return (users ?? []).map(({ id }: { id: string }) => names.get(id)).sort();
  };
  const rows: readonly [Record<string, string>, readonly string[]][] = [
    [{ emailVerified: "true" }, ["one"]],
    [{ emailVerified: "false" }, ["guest", "other"]],
    [{ phoneVerified: "true" }, ["other"]],
    [{ phoneVerified: "false" }, []],
    [{ hasFactor: "true" }, ["one"]],
    [{ hasFactor: "false" }, ["guest", "other"]],
    [{ factor: "FACTOR_KIND_TOTP" }, ["one"]],
    [{ factor: "FACTOR_KIND_PASSKEY" }, []],
    [{ invitationPending: "true" }, ["guest"]],
    [{ invitationPending: "false" }, ["one", "other", "robot"]],
    [{ lastSignInBefore: "2002-01-01T00:00:00Z" }, ["guest", "other"]],
    [{ lastSignInBefore: old }, ["guest"]],
    [{ lastSignInBefore: "2100-01-01T00:00:00Z" }, ["guest", "one", "other"]],
    [{ passwordChangedBefore: "2002-01-01T00:00:00Z" }, ["other"]],
    [{ passwordChangedBefore: old }, []],
    [{ hasFactor: "false", emailVerified: "false", lastSignInBefore: "2002-01-01T00:00:00Z" }, ["guest", "other"]],
    [{ hasFactor: "false", kind: "USER_KIND_HUMAN", search: "grace", invitationPending: "true" }, ["guest"]],
  ];
  for (const [filter, expected] of rows) {
    expect([filter, await listed(filter)]).toEqual([filter, expected]);
    if (!filter.search) expect([filter, await listed(filter, "NAME_ORDER_NEWEST")]).toEqual([filter, expected]);
  }
});
