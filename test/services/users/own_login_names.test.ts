import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { recover } from "../../../src/maintenance/recover.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection, unique } from "../../events/log_of.ts";
import { enrolTotp } from "../../fixture/factors.ts";
import { newEraser } from "../../fixture/organization.ts";
import { type Answer, organization, type Postern, startPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const password = "Blue-Kettle-42";
// bcrypt of that password.
const passwordHash = "$2b$05$CCCCCCCCCCCCCCCCCCCCC./45MSdzVCKoBALkl.UcinQ1yE2Db1Cq";

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const outcomeOf = ({ status, body }: Answer): string =>
  status === 200 ? "OK" : body.details?.find(({ reason }: { reason?: string }) => reason)?.reason;
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const signIn = (loginName: string, organizationId = "", secret = password) =>
  postern.as().post("/v1/sessions", { loginName, organizationId, password: secret });
const change = (organizationId: string, body: object) =>
  postern.admin.call("PATCH", `/v1/organizations/${organizationId}`, body);
const rename = (userId: string, username: string) => postern.admin.put(`/v1/users/${userId}/username`, { username });
const byName = (loginName: string, organizationId = "") =>
  postern.admin.get(`/v1/users:byLoginName?${new URLSearchParams({ loginName, organizationId })}`);
const create = (organizationId: string, username: string) =>
  postern.admin.post(
    "/v1/users/human",
    { username, givenName: "Jane", familyName: "Doe", email: "jane@example.com", password },
    inside(organizationId),
  );

const resetCode = /\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/;

/** A new organization whose login names are its own. */
const customer = async (): Promise<string> =>
  done(await postern.admin.post("/v1/organizations", { name: unique("Customer"), ownLoginNames: true })).organizationId;

/** Two organizations that each have a user of one name, and a third with one in the directory. */
async function janes() {
  const username = unique("jane");
  const [a, b, c] = [await customer(), await customer(), await organization(postern)];
  const [ofA, ofB, ofC] = [await create(a, username), await create(b, username), await create(c, username)];
  return { username, a, b, c, ofA: done(ofA).userId, ofB: done(ofB).userId, ofC: done(ofC).userId };
}

test("two organizations each have a jane, and the directory has one: each is found where she is, and nowhere else", async () => {
  const { username, a, b, c, ofA, ofB, ofC } = await janes();
  const found = async (...of: Parameters<typeof byName>) => (await byName(...of)).body.user?.id;
  expect(await found(username)).toBe(ofC);
  expect(await found(username.toUpperCase(), a)).toBe(ofA);
  expect(await found(`${username}@${b}`)).toBe(ofB);
  expect(await found(`${username}@${b}`, a)).toBe(undefined);
  expect(await found(username, c)).toBe(ofC);
  expect(await found(username, postern.organizationId)).toBe(undefined);
  for (const [organizationId, userId] of [
    ["", ofC],
    [a, ofA],
    [b, ofB],
  ] as const) {
    const { token } = done(await signIn(username, organizationId));
    expect(done(await postern.as(token).get("/v1/users/me")).user.id).toBe(userId);
  }
  done(await signIn(`${username}@${a}`));
  expect(done(await byName(username, a)).user.ownLoginName).toBe(true);
  expect(done(await byName(username)).user.ownLoginName).toBe(false);
  expect(outcomeOf(await signIn(username, postern.organizationId))).toBe("SIGN_IN_FAILED");
  const { token } = await recover(postern.config, { wanted: username, organizationId: b });
  expect(done(await postern.as(token).get("/v1/users/me")).user.id).toBe(ofB);
});

test("of ten who ask for one name of an organization at once, in calls and batches, one gets it", async () => {
  const organizationId = await customer();
  const username = unique("jane");
  const items = [{ machine: { username, name: "M" } }];
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => {
      if (n % 3 === 0) return create(organizationId, username);
      if (n % 3 === 1) return postern.admin.post("/v1/users/machine", items[0]?.machine, inside(organizationId));
      return postern.admin.post("/v1/users:batchCreate", { items }, inside(organizationId));
    }),
  );
  const outcomes = answers.map((answer) => {
    const refused = answer.body.outcomes?.[0].refused;
    return outcomeOf(refused ? { ...answer, status: 409, body: refused } : answer);
  });
  expect(outcomes.sort()).toEqual(["OK", ...Array.from({ length: 9 }, () => "LOGIN_NAME_TAKEN")].sort());
});

test("a token, a code, a reset and a lock of one jane open and shut nothing of the other", async () => {
  const [a, b] = [await customer(), await customer()];
  const username = unique("jane");
  const email = `${username}@example.com`;
  const human = { username, givenName: "Jane", familyName: "Doe", email, passwordHash, isEmailVerified: true };
  const [first, second] = await Promise.all(
    [a, b].map(async (organizationId) => {
      const { outcomes } = done(
        await postern.admin.post("/v1/users:batchCreate", { items: [{ human }] }, inside(organizationId)),
      );
      return outcomes[0].created.userId as string;
    }),
  );
  const one = postern.as(done(await signIn(username, a)).token);
  const other = postern.as(done(await signIn(username, b)).token);
  expect(outcomeOf(await one.get(`/v1/users/${second}`))).toBe("PERMISSION_DENIED");
  expect(done(await one.get("/v1/users/me")).user.id).toBe(first);

  const { secret } = await enrolTotp(one);
  expect(secret).toMatch(/./);
  expect(done(await signIn(username, a)).pending.token).toMatch(/./);
  expect(done(await signIn(username, b)).pending).toBe(undefined);

  done(await postern.as().post("/v1/password-resets", { loginName: username, organizationId: b }));
  const [mail] = await mailsTo(postern, email, 1, resetCode);
  const codes = mail?.text.match(new RegExp(resetCode, "g")) ?? [];
  expect([codes.length, mail?.text]).toEqual([1, expect.stringContaining(`Account: ${username}@${b}`)]);
  const newPassword = "Green-Teapot-77";
  done(await postern.as().post("/v1/password-resets:complete", { verificationCode: codes[0], newPassword }));
  expect(outcomeOf(await signIn(username, b))).toBe("SIGN_IN_FAILED");
  expect(done(await signIn(username, b, newPassword)).token).toMatch(/./);
  expect(outcomeOf(await other.get("/v1/users/me"))).toBe("TOKEN_INVALID");
  expect(done(await signIn(username, a)).pending.token).toMatch(/./);
  expect(done(await one.get("/v1/users/me")).user.id).toBe(first);

  for (let guess = 0; guess < 10; guess++) await signIn(username, a, "Wrong-Kettle-42");
  expect(outcomeOf(await signIn(username, a))).toBe("PASSWORD_ATTEMPTS");
  expect(done(await signIn(username, b, newPassword)).token).toMatch(/./);
  expect(done(await postern.admin.get(`/v1/users/${first}`)).user.state).toBe("USER_STATE_LOCKED");
  expect(done(await postern.admin.get(`/v1/users/${second}`)).user.state).toBe("USER_STATE_ACTIVE");
});

test("by an address and an organization, a reset is about its accounts alone", async () => {
  const { username, a } = await janes();
  const email = `${username}@example.com`;
  for (const organizationId of ["", a]) {
    const { user } = done(await byName(username, organizationId));
    done(await postern.admin.post(`/v1/users/${user.id}/email`, { email, isVerified: true }));
  }
  done(await postern.as().post("/v1/password-resets", { email, organizationId: a }));
  const [mail] = await mailsTo(postern, email, 1, resetCode);
  expect(mail?.text.match(/^Account: .*$/gm)).toEqual([`Account: ${username}@${a}`]);
});

test("names that nobody has wait by organization, and all are answered alike", async () => {
  const [a, b] = [await customer(), await customer()];
  const name = unique("nobody");
  for (let guess = 0; guess < 10; guess++) expect(outcomeOf(await signIn(name, a))).toBe("SIGN_IN_FAILED");
  expect(outcomeOf(await signIn(name, a))).toBe("PASSWORD_ATTEMPTS");
  expect(outcomeOf(await signIn(`${name}@${a}`))).toBe("PASSWORD_ATTEMPTS");
  for (const where of [b, "", "none"]) expect(outcomeOf(await signIn(name, where))).toBe("SIGN_IN_FAILED");
});

test("an organization's own names tell other organizations nothing, and are unique in it", async () => {
  const { username, a, c } = await janes();
  const again = await create(a, username.toUpperCase());
  expect(outcomeOf(again)).toBe("LOGIN_NAME_TAKEN");
  const owner = await newEraser(postern, c);
  const human = { givenName: "Jane", familyName: "Doe", email: "jane@example.com" };
  // The manager of an organization in the directory may have each name that is only another organization's own.
  const name = unique("joan");
  done(await create(a, name));
  done(await owner.post("/v1/users/human", { ...human, username: name }));
  // And learns of the directory alone that a name is taken.
  const taken = await owner.post("/v1/users/human", { ...human, username: "admin" });
  expect([outcomeOf(taken), JSON.stringify(taken.body)]).toEqual([
    "LOGIN_NAME_TAKEN",
    expect.not.stringContaining(postern.adminId),
  ]);
  // In an organization with names of its own, the names of the directory are free.
  done(await create(a, "admin"));
  const items = [{ human: { ...human, username: "root" } }, { machine: { username: "root", name: "Root" } }];
  const { outcomes } = done(await postern.admin.post("/v1/users:batchCreate", { items }, inside(a)));
  expect(outcomes[0].created.userId).toMatch(/./);
  expect(JSON.stringify(outcomes[1].refused)).toContain("REPEATED");
  const machine = { username: "root", name: "Root" };
  expect(outcomeOf(await postern.admin.post("/v1/users/machine", machine, inside(a)))).toBe("LOGIN_NAME_TAKEN");
});

test("a username that ends like a qualified name is refused", async () => {
  const { username, a, c } = await janes();
  const forged = await create(c, `${username}@${a}`);
  expect([forged.status, JSON.stringify(forged.body)]).toEqual([400, expect.stringContaining("USERNAME_RESERVED")]);
  const { userId } = done(await create(c, `${unique("x")}@${a}.example.com`));
  expect((await rename(userId, `${username}@${a.toUpperCase()}`)).status).toBe(400);
});

test("after the switch, users of before stay in the directory until they get another name", async () => {
  const [organizationId, username] = [await organization(postern), unique("before")];
  const { userId } = done(await create(organizationId, username));
  expect(done(await change(organizationId, { ownLoginNames: true })).details.sequence).toBe("2");
  expect(done(await change(organizationId, { ownLoginNames: true })).details.sequence).toBe("2");
  const shown = done(await postern.admin.get(`/v1/organizations/${organizationId}`)).organization;
  expect(shown.ownLoginNames).toBe(true);
  done(await signIn(username));
  done(await signIn(username, organizationId));
  expect(outcomeOf(await create(organizationId, username))).toBe("LOGIN_NAME_TAKEN");
  const elsewhere = await organization(postern);
  expect(outcomeOf(await create(elsewhere, username))).toBe("LOGIN_NAME_TAKEN");

  done(await rename(userId, username.toUpperCase()));
  done(await signIn(username));
  const next = unique("after");
  done(await create(elsewhere, next));
  done(await rename(userId, next));
  expect(done(await byName(next, organizationId)).user).toMatchObject({ id: userId, ownLoginName: true });
  expect(outcomeOf(await signIn(username))).toBe("SIGN_IN_FAILED");
  expect(outcomeOf(await signIn(username, organizationId))).toBe("SIGN_IN_FAILED");
  done(await create(elsewhere, username));
  done(await rename(userId, `${next}-2`));
  done(await signIn(`${next}-2`, organizationId));
  expect(outcomeOf(await signIn(next, organizationId))).toBe("SIGN_IN_FAILED");
  done(await create(organizationId, next));
});

test("an organization goes back to the directory as long as no user has a name of its own, whoever comes at the same moment", async () => {
  const organizationId = await customer();
  const { userId } = done(await create(organizationId, unique("jane")));
  expect(outcomeOf(await change(organizationId, { ownLoginNames: false }))).toBe("OWN_LOGIN_NAMES_IN_USE");
  done(await postern.admin.delete(`/v1/users/${userId}`));
  const { details } = done(await change(organizationId, { ownLoginNames: false }));
  expect(details.sequence).toBe("2");
  const name = unique("jane");
  done(await create(organizationId, name));
  done(await signIn(name));

  for (let round = 0; round < 15; round++) {
    done(await change(organizationId, { ownLoginNames: true }));
    const names = [unique("a"), unique("b"), unique("c")] as const;
    const machine = (username: string) =>
      postern.admin.post("/v1/users/machine", { username, name: "M" }, inside(organizationId));
    const items = [{ machine: { username: names[2], name: "M" } }];
    const [back, ...made] = await Promise.all([
      change(organizationId, { ownLoginNames: false }),
      create(organizationId, names[0]),
      machine(names[1]),
      postern.admin.post("/v1/users:batchCreate", { items }, inside(organizationId)),
    ]);
    for (const answer of made) done(answer);
    const users = await Promise.all(names.map(async (one) => done(await byName(one, organizationId)).user));
    const own = users.filter(({ ownLoginName }) => ownLoginName);
    if (back.status === 200) expect(own).toEqual([]);
    else expect([outcomeOf(back), own.length > 0]).toEqual(["OWN_LOGIN_NAMES_IN_USE", true]);
    for (const { id } of own) done(await postern.admin.delete(`/v1/users/${id}`));
    done(await change(organizationId, { ownLoginNames: false }));
  }
});

test("a deleted user's name is free in its organization, and a replay of the log gives the same names", async () => {
  const { username, a, ofA } = await janes();
  done(await postern.admin.delete(`/v1/users/${ofA}`));
  expect(outcomeOf(await signIn(username, a))).toBe("SIGN_IN_FAILED");
  done(await create(a, username));
  done(await signIn(username, a));
  await using client = oneConnection(postern.databaseUrl);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});

test("a node of before the upgrade that deletes a user frees the name in its organization, too", async () => {
  const { username, a, b } = await janes();
  const [name, other] = [unique("robot"), await customer()];
  const machine = { username: name, name: "Robot" };
  const { userId } = done(await postern.admin.post("/v1/users/machine", machine, inside(a)));
  done(await create(other, name));
  await using client = oneConnection(postern.databaseUrl);
  // Such a node knows the directory only.
  await client.sql`with gone as (delete from login_names where user_id = ${userId}) delete from users where user_id = ${userId}`;
  done(await create(a, name));
  for (const of of [a, other]) done(await signIn(name, of));
  for (const of of [a, b, ""]) done(await signIn(username, of));
});
