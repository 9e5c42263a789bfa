import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { openClient } from "../../fixture/database_client.ts";
import { loseDeadlocks } from "../../fixture/deadlocks.ts";
import { holdStatement } from "../../fixture/held_row.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  signedUp,
  startPostern,
} from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { issuerOf } from "../../provider/application.ts";
import { openBrowser } from "../../provider/browser.ts";

let postern: Postern;
let acme: string;
let owner: Client;
let manager: Client;
let managerId: string;
beforeAll(async () => {
  postern = await startPostern();
  acme = await organization(postern);
  owner = (await administrator("ORG_OWNER")).client;
  ({ client: manager, userId: managerId } = await administrator("ORG_USER_MANAGER"));
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const here = () => ({ "x-service-orgid": acme });

async function administrator(role: string): Promise<{ userId: string; client: Client }> {
  const { userId } = await machine(postern, { organizationId: acme });
  done(await postern.admin.post("/v1/members", { userId, roles: [role] }, here()));
  return { userId, client: await tokenFrom(postern.admin, userId) };
}

const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];

async function tokenFrom(maker: Client, userId: string): Promise<Client> {
  return postern.as(done(await maker.post(`/v1/users/${userId}/tokens`)).token);
}

const promote = async (userId: string, roles = ["ORG_OWNER"]) =>
  done(await owner.post("/v1/members", { userId, roles }));
const whoIs = async (client: Client) => (await client.get("/v1/users/me")).status;

let names = 0;
async function person(): Promise<string> {
  const username = `outgrown-${++names}`;
  const human = { username, givenName: "Ada", familyName: "Byron", email: `${username}@example.com` };
  return done(await manager.post("/v1/users/human", human)).userId;
}

test("a token that a lesser administrator made ends when its user becomes an owner; those of others go on", async () => {
  const { userId } = await machine(postern, { organizationId: acme });
  const [managers, owners] = [await tokenFrom(manager, userId), await tokenFrom(owner, userId)];
  const [fromManagers, fromOwners] = [await tokenFrom(managers, userId), await tokenFrom(owners, userId)];
  expect((await promote(userId)).endedCredentials).toBe(2);
  expect(await Promise.all([managers, fromManagers, owners, fromOwners].map(whoIs))).toEqual([401, 401, 200, 200]);
});

test("a token that took the place of its maker is still of the administrator who made that one", async () => {
  const { userId } = await machine(postern, { organizationId: acme });
  const { tokenId, token } = done(await manager.post(`/v1/users/${userId}/tokens`));
  const successor = await tokenFrom(postern.as(token), userId);
  done(await successor.delete(`/v1/users/${userId}/tokens/${tokenId}`));
  expect((await promote(userId)).endedCredentials).toBe(1);
  expect(await whoIs(successor)).toBe(401);
});

test("what a machine made before its own roles grew ends, too: a lesser administrator may have held the machine then", async () => {
  const { userId: hopId } = await machine(postern, { organizationId: acme });
  await promote(hopId, ["ORG_USER_MANAGER"]);
  const held = await tokenFrom(manager, hopId);
  const machines = [await machine(postern, { organizationId: acme }), await machine(postern, { organizationId: acme })];
  const [far = "", farther = ""] = machines.map(({ userId }) => userId);
  const planted = await tokenFrom(held, far);
  done(await held.post(`/v1/users/${far}/secrets`, {}));
  await promote(far, ["ORG_USER_MANAGER"]);
  const twice = await tokenFrom(planted, farther);
  expect(await grown(hopId)).toBe(1);
  expect(await whoIs(held)).toBe(401);
  const later = await tokenFrom(await tokenFrom(owner, hopId), farther);
  expect(await grown(far)).toBe(2);
  expect((await promote(farther)).endedCredentials).toBe(1);
  expect(await Promise.all([planted, twice, later].map(whoIs))).toEqual([401, 401, 200]);
});

/** Makes a member an owner; answers how much that ended. */
const grown = async (userId: string) =>
  done(await owner.put(`/v1/members/${userId}`, { roles: ["ORG_OWNER"] })).endedCredentials;

test("codes that a lesser administrator was answered, or had sent, end too", async () => {
  const userId = await person();
  const invitation = done(await manager.post(`/v1/users/${userId}:invite`, { returnCode: {} })).verificationCode;
  const phone = done(
    await manager.post(`/v1/users/${userId}/phone`, { phone: "+41791234567", returnCode: {} }),
  ).verificationCode;
  // Beside these two the code of the address, which was sent when the user was created.
  expect((await promote(userId)).endedCredentials).toBe(3);
  const reset = { verificationCode: invitation, newPassword: "Green-Teapot-77" };
  expect(refused(await postern.as().post("/v1/password-resets:complete", reset))).toEqual([400, "CODE_INVALID"]);
  const verified = await postern.admin.post(`/v1/users/${userId}/phone:verify`, { verificationCode: phone });
  expect(verified.status).toBe(400);
});

/** A user whose address somebody has set, and who has signed in. */
async function addressed(setter: Client) {
  const userId = await person();
  const former = `${userId}@former.example`;
  done(await setter.post(`/v1/users/${userId}/email`, { email: former, isVerified: true }));
  done(await owner.put(`/v1/users/${userId}/password`, { newPassword: password }));
  return { userId, former, client: await signedIn(userId) };
}

const password = "Blue-Kettle-42";

async function signedIn(userId: string): Promise<Client> {
  const { username: loginName } = done(await owner.get(`/v1/users/${userId}`)).user;
  return postern.as(done(await postern.as().post("/v1/sessions", { loginName, password })).token);
}

type Addressed = Awaited<ReturnType<typeof addressed>>;

/** Replaces the address of a user; answers the links that mails to the former one have by now. */
async function replaced({ userId, former, client }: Addressed, mails = 1): Promise<string[]> {
  done(await client.post("/v1/users/me/email", { email: `${userId}@own${++names}.example` }));
  const found = await mailsTo(postern, former, mails, patternOf(mailTexts.email_changed.en.before));
  return found.flatMap(({ text }) => /^http\S+restore\S+$/m.exec(text) ?? []);
}

/** Restores an address by a link; answers the status of the page after the form, or of one without a form. */
async function restored(link: string = expect.unreachable()): Promise<number> {
  const browser = openBrowser(issuerOf(postern));
  const page = await browser.open(link);
  return page.status === 200 ? (await browser.submit(page, {}, "restore")).status : page.status;
}

test("a link that undoes a new address ends if a lesser administrator had set the former one", async () => {
  const [managers, owners] = [await addressed(manager), await addressed(owner)];
  const links = [...(await replaced(managers)), ...(await replaced(owners))];
  const ended = [await promote(managers.userId), await promote(owners.userId)];
  expect(ended.map(({ endedCredentials }) => endedCredentials)).toEqual([1, 0]);
  expect([await restored(links[0]), await restored(links[1])]).toEqual([400, 200]);
});

test("where a lesser administrator had set the former address, one who is an owner by now gets no such link", async () => {
  const [managers, owners] = [await addressed(manager), await addressed(owner)];
  await promote(managers.userId);
  await promote(owners.userId);
  expect([await replaced(managers), await replaced(owners)]).toEqual([[], [expect.any(String)]]);
});

test("an address that was restored is still of the lesser administrator who had set it", async () => {
  const user = await addressed(manager);
  const [link] = await replaced(user);
  expect(await restored(link)).toBe(200);
  await promote(user.userId);
  expect(await replaced({ ...user, client: await signedIn(user.userId) }, 2)).toEqual([link]);
});

test("a link whose own statement waits until its user has become an owner restores nothing", async () => {
  const user = await addressed(manager);
  const held = await holdStatement(postern.databaseUrl, "lock table mail_sends in share mode");
  const changing = replaced(user);
  try {
    await expect.poll(waitingForLocks).toBe(1);
    await promote(user.userId);
  } finally {
    await held[Symbol.asyncDispose]();
  }
  const [link] = await changing;
  expect(await restored(link)).toBe(400);
});

test("an invitation by somebody who holds the role as well goes on", async () => {
  const userId = await person();
  const { verificationCode } = done(await owner.post(`/v1/users/${userId}:invite`, { returnCode: {} }));
  await promote(userId, ["ORG_OWNER"]);
  done(await postern.as().post("/v1/password-resets:complete", { verificationCode, newPassword: "Green-Teapot-77" }));
});

test("a role that gives no more than the maker holds ends nothing, and neither do user grants", async () => {
  const { userId } = await machine(postern, { organizationId: acme });
  const token = await tokenFrom(manager, userId);
  expect((await promote(userId, ["ORG_USER_MANAGER"])).endedCredentials).toBe(0);
  const { projectId } = done(await owner.post("/v1/projects", { name: "Outgrown" }));
  done(await owner.post(`/v1/projects/${projectId}/roles`, { key: "pilot" }));
  const { userGrantId } = done(await owner.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: [] }));
  done(await owner.put(`/v1/user-grants/${userGrantId}`, { roleKeys: ["pilot"] }));
  expect(await whoIs(token)).toBe(200);
  expect(done(await owner.put(`/v1/members/${userId}`, { roles: ["ORG_OWNER"] })).endedCredentials).toBe(1);
  expect(await whoIs(token)).toBe(401);
});

test("what a maker could do once does not count: its roles do when the user gets the role", async () => {
  const { userId: makerId, client: maker } = await administrator("ORG_OWNER");
  const { userId } = await machine(postern, { organizationId: acme });
  const token = await tokenFrom(maker, userId);
  done(await owner.delete(`/v1/members/${makerId}`));
  expect((await promote(userId)).endedCredentials).toBe(1);
  expect(await whoIs(token)).toBe(401);
});

test("an organization that is created with an owner ends what others made for that user", async () => {
  const { userId } = await machine(postern, { organizationId: acme });
  const token = await tokenFrom(manager, userId);
  const created = done(
    await postern.admin.post("/v1/organizations", { name: `Outgrown ${++names}`, ownerUserId: userId }),
  );
  expect(created.endedCredentials).toBe(1);
  expect(await whoIs(token)).toBe(401);
});

test("tokens of people, which they made themselves, go on", async () => {
  const { userId, client } = await signedUp(postern, { organizationId: acme });
  const own = await tokenFrom(client, userId);
  expect((await promote(userId)).endedCredentials).toBe(0);
  expect(await whoIs(own)).toBe(200);
  expect(managerId).not.toBe(userId);
});

test("a token that a lesser administrator makes at the moment in which its user becomes an owner does not outlive it", async () => {
  const ends = { refused: 0, ended: 0, alive: 0 };
  for (let round = 0; round < 60; round++) {
    const { userId } = await machine(postern, { organizationId: acme });
    const [made] = await Promise.all([manager.post(`/v1/users/${userId}/tokens`), promote(userId)]);
    if (made.status !== 200) ends.refused++;
    else if ((await whoIs(postern.as(made.body.token))) === 401) ends.ended++;
    else ends.alive++;
  }
  expect(ends).toEqual({ refused: expect.any(Number), ended: expect.any(Number), alive: 0 });
});

/** Writes a token or a code as a node does that has not committed it yet, and dies before it looks at the user's roles again. */
async function creating(kind: "token" | "code", userId: string) {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(openClient(postern.databaseUrl));
  await client.unsafe("begin");
  if (kind === "token")
    await client`
      insert into access_tokens (owner, token_id, user_id, name, permissions, creator_id, version, created, changed)
      values (${acme}, ${`token-${userId}`}, ${userId}, '', '{}', ${managerId}, 1, now(), now())`;
  else {
    await client`update users set changed = now() where user_id = ${userId}`;
    await client`
      insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mac, creator_id, expiration_date)
      values (${`code-${userId}`}, ${acme}, ${userId}, 'password', 'ada@example.com', ${Buffer.from(userId)}, ${managerId},
        now() + interval '1 day')`;
  }
  const stack = opened.move();
  return { commit: () => client.unsafe("commit"), [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const waitingForLocks = async () => {
  await using database = openClient(postern.databaseUrl);
  const [row] = await database.client<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return row?.count;
};

test.each(["token", "code"] as const)(
  "the statement that gives a role ends a %s that is created meanwhile",
  async (kind) => {
    const { userId } = await machine(postern, { organizationId: acme });
    await using other = await creating(kind, userId);
    const given = promote(userId);
    await expect.poll(waitingForLocks).toBe(1);
    await other.commit();
    expect((await given).endedCredentials).toBe(1);
    await using database = openClient(postern.databaseUrl);
    for (const table of ["access_tokens", "mail_codes"])
      expect(
        await database.client.unsafe(`select from ${table} where user_id = $1 and creator_id = $2`, [
          userId,
          managerId,
        ]),
      ).toEqual([]);
    expect(await database.client`select from roles_given`).toEqual([]);
  },
);

const returned = { returnCode: {} };

test.each([
  ["an invitation", "mail_sends", ":invite", returned],
  ["a code for a new address", "mail_sends", "/email", { email: "new@example.com", ...returned }],
  ["a code for the address", "mail_sends", "/email:resend", returned],
  ["a code for a new number", "phone_sends", "/phone", { phone: "+41791234568", ...returned }],
  ["a code for the number", "phone_sends", "/phone:resend", returned],
] as const)(
  "%s whose own statement waits until its user has become an owner does not outlive it",
  async (_, table, path, body) => {
    const userId = await person();
    done(await manager.post(`/v1/users/${userId}/phone`, { phone: "+41791234567", ...returned }));
    const key = { "idempotency-key": randomUUID() };
    const make = () => manager.post(`/v1/users/${userId}${path}`, body, key);
    const losing = { table: table.replace("sends", "codes"), where: `user_id = '${userId}'`, times: 2 };
    await using deadlocks = await loseDeadlocks(postern.databaseUrl, losing);
    const held = await holdStatement(postern.databaseUrl, `lock table ${table} in share mode`);
    const making = make();
    try {
      await expect.poll(waitingForLocks).toBe(1);
      await promote(userId);
      await deadlocks.again();
    } finally {
      await held[Symbol.asyncDispose]();
    }
    expect(refused(await making)).toEqual([403, "PERMISSION_DENIED"]);
    expect(await deadlocks.tries()).toBe(3);
    expect(refused(await make())).toEqual([403, "PERMISSION_DENIED"]);
    await using database = openClient(postern.databaseUrl);
    for (const codes of ["mail_codes", "phone_codes"])
      expect(await database.client.unsafe(`select from ${codes} where user_id = $1`, [userId])).toEqual([]);
    expect(await database.client`select from idempotency where key = ${key["idempotency-key"]}`).toEqual([]);
  },
);
