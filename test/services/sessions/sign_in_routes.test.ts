import { readFile } from "node:fs/promises";
import { createContextValues } from "@connectrpc/connect";
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { recover } from "../../../src/maintenance/recover.ts";
import { errorText } from "../../../src/messages/catalogue.ts";
import { parseMigration } from "../../../src/postgres/migrating/migration_file.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { signInsOf } from "../../../src/services/sessions/sign_in.ts";
import { oneConnection, unique } from "../../events/log_of.ts";
import { type Answer, organization, type Postern, startPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { openHandlers } from "../../sent_statements.ts";
import { countedHashes } from "./counted_hashes.ts";

let postern: Postern;
let database: ReturnType<typeof oneConnection>;
beforeAll(async () => {
  postern = await startPostern({ mailSendsPerUser: 50, mailSendsPerAddress: 50 });
  database = oneConnection(postern.databaseUrl);
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const password = "Blue-Kettle-42";

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const outcomeOf = ({ status, body }: Answer): string =>
  status === 200 ? "OK" : body.details?.find(({ reason }: { reason?: string }) => reason)?.reason;
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const signIn = (loginName: string, organizationId = "", secret = password) =>
  postern.as().post("/v1/sessions", { loginName, organizationId, password: secret });

/** Whom a sign-in lets in; undefined if it is refused like one with a name that nobody has. */
async function whoIs(loginName: string, organizationId = ""): Promise<string | undefined> {
  const answer = await signIn(loginName, organizationId);
  if (answer.status !== 200) {
    expect(outcomeOf(answer)).toBe("SIGN_IN_FAILED");
    return undefined;
  }
  return done(await postern.as(answer.body.token).get("/v1/users/me")).user.id;
}

type Person = { username?: string; email?: string; isEmailVerified?: boolean; password?: string | undefined };

/** A new user without a mail. */
async function person(organizationId: string, of: Person = {}) {
  const username = of.username ?? unique("user");
  const human = { givenName: "Jane", familyName: "Doe", email: `${username}@example.com`, password, ...of, username };
  const made = await postern.admin.post("/v1/users:batchCreate", { items: [{ human }] }, inside(organizationId));
  return { ...human, userId: done(made).outcomes[0].created.userId as string };
}

type User = Awaited<ReturnType<typeof person>>;

const change = (userId: string, body: object, by = postern.admin) => by.post(`/v1/users/${userId}/email`, body);
const verify = (userId: string, verificationCode: string) =>
  postern.admin.post(`/v1/users/${userId}/email:verify`, { verificationCode });

const emailCode = /^[2-9B-Z]{6}$/m;

/** Has a user prove the address by the code from the mail. */
async function proven<T extends User>(user: T): Promise<T> {
  const { length } = await mailsTo(postern, user.email, 0, emailCode);
  done(await change(user.userId, { email: user.email, sendCode: {} }));
  const mails = await mailsTo(postern, user.email, length + 1, emailCode);
  done(await verify(user.userId, emailCode.exec(mails.at(-1)?.text ?? "")?.[0] ?? ""));
  return user;
}

const give = async (organizationId: string, name: string): Promise<string> =>
  done(await postern.admin.post("/v1/domains", { name, withoutDns: true }, inside(organizationId))).domainId;
const customer = async (): Promise<string> =>
  done(await postern.admin.post("/v1/organizations", { name: unique("Customer"), ownLoginNames: true })).organizationId;
const someDomain = () => `${unique("firm")}.example`;

test("an address finds a user once a mail of ours has reached it, and not because somebody says that it is verified", async () => {
  const [a, b] = [await organization(postern), await organization(postern)];
  const [ada, eve] = [await person(a), await person(b)];
  expect(await whoIs(ada.email)).toBe(undefined);
  // A tenant verifies somebody else's address: by permission, and with a code that it has returned.
  const victims = `${unique("victim")}@example.com`;
  done(await change(eve.userId, { email: victims, isVerified: true }));
  expect(await whoIs(victims)).toBe(undefined);
  const { verificationCode } = done(await change(eve.userId, { email: victims, returnCode: {} }));
  done(await verify(eve.userId, verificationCode));
  expect(done(await postern.admin.get(`/v1/users/${eve.userId}`)).user.human.emailVerified).toBe(true);
  expect(await whoIs(victims)).toBe(undefined);
  expect(await whoIs(victims, b)).toBe(undefined);
  const victim = await proven(await person(a, { email: victims }));
  expect(await whoIs(victims)).toBe(victim.userId);
  expect(await whoIs(victims, b)).toBe(undefined);

  await proven(ada);
  for (const typed of [ada.email, ada.email.toUpperCase(), ` ${ada.email.replace("@", "＠")} `, `${ada.email}.`])
    expect([typed, await whoIs(typed), await whoIs(typed, a)]).toEqual([typed, ada.userId, ada.userId]);
  expect(await whoIs(ada.email, b)).toBe(undefined);
  // Another spelling is the same mailbox; another address is another one, also after it has become the old one again.
  done(await change(ada.userId, { email: ada.email.toUpperCase(), isVerified: true }));
  expect(await whoIs(ada.email)).toBe(ada.userId);
  done(await change(ada.userId, { email: `x${ada.email}`, isVerified: true }));
  expect(await whoIs(`x${ada.email}`)).toBe(undefined);
  done(await change(ada.userId, { email: ada.email, isVerified: true }));
  expect(await whoIs(ada.email)).toBe(undefined);
});

const resetCode = /\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/;

test("a new password by a mailed code proves the address, and mails are asked for by what one signs in with", async () => {
  const a = await organization(postern);
  const ada = await person(a, { isEmailVerified: true });
  expect(await whoIs(ada.email)).toBe(undefined);
  const reset = async (loginName: string, count: number) => {
    done(await postern.as().post("/v1/password-resets", { loginName }));
    const mails = await mailsTo(postern, ada.email, count, resetCode);
    const verificationCode = resetCode.exec(mails.at(-1)?.text ?? "")?.[0];
    done(await postern.as().post("/v1/password-resets:complete", { verificationCode, newPassword: password }));
  };
  await reset(ada.username, 1);
  expect(await whoIs(ada.email)).toBe(ada.userId);
  await reset(ada.email, 2);
  const { token } = await recover(postern.config, { wanted: ada.email });
  expect(done(await postern.as(token).get("/v1/users/me")).user.id).toBe(ada.userId);
});

test("two users of one address are nobody without the organization, and each of them is found in theirs", async () => {
  const [a, b] = [await organization(postern), await customer()];
  const email = `${unique("jane")}@example.com`;
  const [one, two] = [await proven(await person(a, { email })), await person(b, { email, username: "jane" })];
  expect(await whoIs(email)).toBe(one.userId);
  await proven(two);
  expect(await whoIs(email)).toBe(undefined);
  expect([await whoIs(email, a), await whoIs(email, b)]).toEqual([one.userId, two.userId]);
  expect(await whoIs(`${email}@${b}`)).toBe(two.userId);
  // Failures count by user, whatever was typed: the other one is not affected.
  for (let guess = 0; guess < 5; guess++) {
    await signIn(email, b, "Wrong-Kettle-42");
    await signIn("jane", b, "Wrong-Kettle-42");
  }
  expect(outcomeOf(await signIn(`jane@${b}`))).toBe("PASSWORD_ATTEMPTS");
  expect(await whoIs(email, a)).toBe(one.userId);
});

test("whoever signs in with a login name goes on, although somebody else proves that it is their address", async () => {
  const [a, b, c] = [await organization(postern), await organization(postern), await customer()];
  const address = `${unique("jane")}@example.com`;
  const named = await person(a, { username: address, email: address, isEmailVerified: true });
  expect(await whoIs(address)).toBe(named.userId);
  const other = await proven(await person(b, { email: address }));
  expect(await whoIs(address)).toBe(named.userId);
  expect([await whoIs(address, a), await whoIs(address, b)]).toEqual([named.userId, other.userId]);
  expect(await whoIs(other.username)).toBe(other.userId);
  // The same in an organization with login names of its own.
  const [first, second] = [
    await person(c, { username: address, email: "x@example.com" }),
    await person(c, { email: address }),
  ];
  await proven(second);
  expect(await whoIs(address, c)).toBe(first.userId);
});

test("the domain of an address decides where it is looked up, and nobody elsewhere is found by it", async () => {
  const [a, b] = [await customer(), await organization(postern)];
  const domain = someDomain();
  const elsewhere = await person(b, { username: `joe@${domain}`, email: `joe@${domain}` });
  const outsider = await proven(await person(b, { email: `out@${domain}` }));
  expect(await whoIs(`joe@${domain}`)).toBe(elsewhere.userId);
  expect(await whoIs(`out@${domain}`)).toBe(outsider.userId);
  const jane = await person(a, { username: "jane", email: `jane.doe@${domain}` });
  expect(await whoIs(`jane.doe@${domain}`)).toBe(undefined);
  const domainId = await give(a, domain);

  // The organization vouches for what its administrators set, verified or not.
  for (const typed of [`jane.doe@${domain}`, `JANE.DOE@${domain.toUpperCase()}`, `jane@${domain}`])
    expect([typed, await whoIs(typed)]).toEqual([typed, jane.userId]);
  expect(await whoIs(`joe@${domain}`)).toBe(undefined);
  expect(await whoIs(`out@${domain}`)).toBe(undefined);
  expect(await whoIs(`joe@${domain}`, b)).toBe(elsewhere.userId);
  expect(await whoIs(`out@${domain}`, b)).toBe(outsider.userId);
  expect(await whoIs(`jane.doe@${domain}`, b)).toBe(undefined);
  // But not for what users say themselves, who would shut out the owner of the address.
  const mallory = await person(a, { username: "mallory" });
  const own = postern.as(done(await signIn("mallory", a)).token);
  done(await change(mallory.userId, { email: `jane.doe@${domain}`, sendCode: {} }, own));
  expect(await whoIs(`jane.doe@${domain}`)).toBe(jane.userId);
  done(await change(mallory.userId, { email: `boss@${domain}`, sendCode: {} }, own));
  expect(await whoIs(`boss@${domain}`)).toBe(undefined);
  // An address comes before a name with the domain, and a username before both.
  const june = await person(a, { username: "june", email: `jane@${domain}` });
  expect(await whoIs(`jane@${domain}`)).toBe(june.userId);
  const exact = await person(a, { username: `jane@${domain}`, email: `exact@${domain}` });
  expect(await whoIs(`jane@${domain}`)).toBe(exact.userId);
  expect(await whoIs("jane", a)).toBe(jane.userId);

  // Without the domain, the addresses are as good as the mails that reached them.
  done(await postern.admin.delete(`/v1/domains/${domainId}`, inside(a)));
  expect(await whoIs(`joe@${domain}`)).toBe(elsewhere.userId);
  expect(await whoIs(`out@${domain}`)).toBe(outsider.userId);
  expect(await whoIs(`jane.doe@${domain}`)).toBe(undefined);
  expect(await whoIs("jane", a)).toBe(jane.userId);
  // Whoever proves it next gets the sign-ins, but none of the users.
  await give(b, domain);
  expect(await whoIs(`out@${domain}`)).toBe(outsider.userId);
  expect(await whoIs(`jane@${domain}`)).toBe(undefined);
});

test("GetUserByLoginName finds names by the same route, but nobody by an address", async () => {
  const a = await customer();
  const domain = someDomain();
  await give(a, domain);
  const jane = await proven(await person(a, { username: "jane", email: `jd@${domain}` }));
  const byName = async (loginName: string, organizationId = "") => {
    const query = new URLSearchParams({ loginName, organizationId });
    return (await postern.admin.get(`/v1/users:byLoginName?${query}`)).body.user?.id;
  };
  expect(await whoIs(`jd@${domain}`)).toBe(jane.userId);
  expect(await byName(`jd@${domain}`)).toBe(undefined);
  expect(await byName(`jane@${domain}`)).toBe(jane.userId);
  expect(await byName("jane", a)).toBe(jane.userId);
});

/** Counts the statements and the hashes of a refused sign-in. */
async function costsOf(count: (costs: (...typed: [string, string?]) => Promise<object>) => Promise<void>) {
  await using handlers = openHandlers(postern);
  let hashes = 0;
  const deps = { ...handlers.deps, secrets: countedHashes(handlers.deps.secrets, () => hashes++) };
  const { signIn } = signInsOf(deps, postern.config);
  const call = { values: createContextValues(), signal: new AbortController().signal };
  await count(async (loginName, organizationId) => {
    handlers.heard();
    hashes = 0;
    const request = { loginName, organizationId, password: "Wrong-Kettle-42", newPassword: undefined, browsers: [] };
    // biome-ignore lint/suspicious/noExplicitAny: no session begins.
    await expect(signIn({ ...request, call: call as any }, {} as any)).rejects.toThrow(errorText("SIGN_IN_FAILED"));
    // One that is asked now and then, whatever the name.
    const statements = handlers.heard().filter((text) => !text.includes("from passwords where imported"));
    return { statements, hashes };
  });
}

test("whoever is known or unknown, and by whatever route, a refused sign-in costs the same statements and hashes", async () => {
  const [a, b] = [await customer(), await organization(postern)];
  const domain = someDomain();
  await give(a, domain);
  const jane = await person(a, { username: "jane", email: `jane.doe@${domain}` });
  const joe = await proven(await person(b));
  // Those who could not sign in anyway: somebody without a password, deleted, of a deactivated organization, or with an address of two.
  const [shut, pending] = [await organization(postern), someDomain()];
  const [barred, gone] = [await person(shut), await person(b)];
  const without = await person(b, { password: undefined });
  const two = `${unique("two")}@example.com`;
  for (const organizationId of [a, b]) await proven(await person(organizationId, { email: two }));
  done(await postern.admin.delete(`/v1/users/${gone.userId}`));
  done(await postern.admin.post(`/v1/organizations/${shut}:deactivate`));
  done(await postern.admin.post("/v1/domains", { name: pending }, inside(a)));
  await costsOf(async (costs) => {
    const known = (await costs(joe.username)) as { statements: string[]; hashes: number };
    expect([known.hashes, known.statements.length > 3]).toEqual([1, true]);
    for (const [name, organizationId] of [
      [unique("nobody")],
      [joe.email],
      [`${unique("nobody")}@example.com`],
      [jane.email],
      [`jane@${domain}`],
      [`nobody@${domain}`],
      ["jane", a],
      [jane.email, a],
      ["nobody", a],
      [`nobody@${domain}`, a],
      [`jane@${a}`],
      [`nobody@${a}`],
      [joe.username, postern.organizationId],
      [joe.username, "0123456789abcdefghjkmnpq"],
      [joe.username, "none"],
      [barred.username],
      [barred.username, shut],
      [gone.username],
      [`${gone.username}@${b}`],
      [without.username],
      [two],
      [two, a],
      [`jane@${pending}`],
      [`jane@${pending}`, a],
    ] as const)
      expect(await costs(name, organizationId), `${name} in ${organizationId}`).toEqual(known);
  });
});

test("failures at an address that nobody has count for all its spellings, and by the organization where it is looked up", async () => {
  const [a, b] = [await customer(), await customer()];
  const domain = `${unique("bücher")}.example`;
  await give(a, domain);
  const ascii = `nobody@${new URL(`http://${domain}`).hostname}`;
  for (let guess = 0; guess < 10; guess++)
    expect(outcomeOf(await signIn(guess % 2 === 0 ? `NOBODY@${domain}` : ascii))).toBe("SIGN_IN_FAILED");
  for (const organizationId of ["", a])
    for (const typed of [`nobody@${domain}`, ascii])
      expect(outcomeOf(await signIn(typed, organizationId))).toBe("PASSWORD_ATTEMPTS");
  expect(outcomeOf(await signIn(ascii, b))).toBe("SIGN_IN_FAILED");
  expect(outcomeOf(await signIn("nobody", a))).toBe("SIGN_IN_FAILED");
});

test("the upgrade finds the addresses that mails have reached as if it had noted them, and a replay gives the same domains", async () => {
  const folder = new URL("../../../src/postgres/migrations/", import.meta.url);
  const name = "0128-proven-addresses.sql";
  const { steps } = parseMigration(name, await readFile(new URL(name, folder), "utf8"));
  const backfill = steps.find(({ kind }) => kind === "batches")?.text.replace(":batch", "true") ?? "";
  const addresses = (sql: postgres.Sql) =>
    sql`select user_id, proven_email from all_users where email_verified and proven_email = lower(email) order by user_id`;
  const client = database.sql as unknown as postgres.Sql;
  const noted = [...(await addresses(client))];
  expect(noted.length).toBeGreaterThan(5);
  await client.unsafe("update all_users set proven_email = null");
  await client.unsafe(backfill);
  expect([...(await addresses(client))]).toEqual(noted);
  expect(await rebuild(database.sql, folds)).toEqual({ equal: true, differences: [] });
});
