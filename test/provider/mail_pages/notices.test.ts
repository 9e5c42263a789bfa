import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mailTexts, wayBackLabel } from "../../../src/messages/mail_texts.ts";
import { pageText } from "../../../src/messages/page.ts";
import { enrolTotp, withTotp } from "../../fixture/factors.ts";
import { type Client, type Postern, signedUp, startPostern } from "../../harness.ts";
import { allMails, mailsTo } from "../../notify/mail_log.ts";
import { openProbe } from "../../probe.ts";
import { issuerOf } from "../application.ts";
import { openBrowser } from "../browser.ts";
import { alertOf, mailLinks, newAddress, newPassword, titleOf } from "./mail_links.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern({ mailSendsPerUser: 50, mailSendsPerAddress: 50 });
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const { setAddress, person, linkTo, askFor, choose } = mailLinks(() => postern);

/** The subjects of the mails to an address, once there are as many as expected. */
const subjectsTo = async (email: string, count: number) =>
  (await mailsTo(postern, email, count)).map(({ subject }) => subject);

const userOf = async (userId: string) => (await postern.admin.get(`/v1/users/${userId}`)).body.user.human;
const isIn = async (client: Client) => (await client.get("/v1/users/me")).status === 200;
const works = async (userId: string, password: string) => {
  const { username: loginName } = (await postern.admin.get(`/v1/users/${userId}`)).body.user;
  return (await postern.as().post("/v1/sessions", { loginName, password })).status === 200;
};

describe("the mail to a former address", () => {
  /** Somebody else signed in with the password, and has changed the address; answers what it left behind. */
  async function taken() {
    const victim = await person();
    const thief = postern.as((await postern.as().post("/v1/sessions", signInOf(victim))).body.token);
    const token = postern.as((await thief.post("/v1/users/me/tokens")).body.token);
    const stolen = newAddress();
    expect((await thief.post("/v1/users/me/email", { email: stolen })).status).toBe(200);
    return { ...victim, thief, token, stolen, link: await linkTo(victim.email) };
  }
  const signInOf = ({ username: loginName, password }: { username: string; password: string }) => ({
    loginName,
    password,
  });
  const restore = async (link: string, browser = openBrowser(issuer)) => {
    const page = await browser.open(link);
    return page.status === 200 ? browser.submit(page, {}, "restore") : page;
  };

  test("has a link whose form ends all that came of the password, and restores the address", async () => {
    const { userId, email, password, stolen, thief, token, client, link } = await taken();
    await linkTo(stolen);
    const browser = openBrowser(issuer);
    const page = await browser.open(link);
    expect([page.url, titleOf(page)]).toEqual([`${issuer}/email/restore`, pageText("restore_title", "en")]);
    // Scanners of mail open links, with HEAD and GET.
    expect([(await userOf(userId)).email, await isIn(thief)]).toEqual([stolen, true]);
    const done = await browser.submit(page, {}, "restore");
    expect([done.url, titleOf(done)]).toEqual([`${issuer}/email/restore?done=1`, pageText("restored_title", "en")]);
    expect(await userOf(userId)).toMatchObject({ email, emailVerified: true });
    for (const one of [thief, token, client]) await expect.poll(() => isIn(one)).toBe(false);
    // The password stays: a reset by the restored address replaces it.
    expect(await works(userId, password)).toBe(true);
    await askFor(email);
    expect(titleOf(await choose(await linkTo(email, 2)))).toBe(pageText("saved_title", "en"));
    expect([await works(userId, password), await works(userId, newPassword)]).toEqual([false, true]);
  });

  test("works once, and ends a code that was mailed to the other address", async () => {
    const { userId, email, stolen, link } = await taken();
    const verifying = await linkTo(stolen);
    await postern.admin.post(`/v1/users/${userId}/phone`, { phone: "+41446681800", returnCode: {} });
    expect(titleOf(await restore(link))).toBe(pageText("restored_title", "en"));
    const again = await restore(link);
    expect([again.status, alertOf(again)]).toEqual([400, expect.stringContaining(pageText("restore_over", "en"))]);
    const browser = openBrowser(issuer);
    const confirmed = await browser.submit(await browser.open(verifying), {}, "confirm");
    expect([titleOf(confirmed), (await userOf(userId)).email]).toEqual([pageText("confirmed_title", "en"), email]);
  });

  test("is over after three days", async () => {
    const { link, userId, stolen } = await taken();
    await using probe = openProbe(postern.databaseUrl);
    const left = probe.sql`select from mail_codes where user_id = ${userId} and purpose = 'undo'
      and expiration_date between now() + interval '71 hours' and now() + interval '72 hours'`;
    expect(await left).toHaveLength(1);
    await probe.sql`update mail_codes set expiration_date = now() - interval '1 second' where user_id = ${userId}`;
    expect((await restore(link)).status).toBe(400);
    expect((await userOf(userId)).email).toBe(stolen);
  });

  test("counts before those of later changes: a thief's own address takes nothing back", async () => {
    const { userId, email, thief, stolen, link } = await taken();
    const proven = await openBrowser(issuer);
    await proven.submit(await proven.open(await linkTo(stolen)), {}, "confirm");
    expect((await thief.post("/v1/users/me/email", { email: newAddress() })).status).toBe(200);
    const ofThief = await linkTo(stolen, 2);
    expect(titleOf(await restore(ofThief))).toBe(pageText("restored_title", "en"));
    expect((await userOf(userId)).email).toBe(stolen);
    expect(titleOf(await restore(link))).toBe(pageText("restored_title", "en"));
    expect((await userOf(userId)).email).toBe(email);
    expect((await restore(ofThief)).status).toBe(400);
  });

  test("has a link that ends with an administrator's change: a former address takes nothing back from it", async () => {
    const { userId, link } = await taken();
    const email = await setAddress(userId, { isVerified: true });
    expect((await restore(link)).status).toBe(400);
    expect((await userOf(userId)).email).toBe(email);
  });

  test("comes too where the address is only to be confirmed again, and so leaves no way around it", async () => {
    const { userId, email, client } = await person();
    expect((await client.post("/v1/users/me/email", { email, sendCode: {} })).status).toBe(200);
    await mailsTo(postern, email, 2);
    expect((await client.post("/v1/users/me/email", { email: newAddress() })).status).toBe(200);
    const links = (await mailsTo(postern, email, 2)).map(({ text }) => /^http\S+restore\S+$/m.exec(text)?.[0]);
    const [link = expect.unreachable()] = links.filter((one) => one !== undefined);
    expect(titleOf(await restore(link))).toBe(pageText("restored_title", "en"));
    expect(await userOf(userId)).toMatchObject({ email, emailVerified: true });
  });

  test("has its link after a sign-in with a factor that whoever took over the account has just added", async () => {
    const { userId, email, ...victim } = await person();
    const thief = postern.as((await postern.as().post("/v1/sessions", signInOf(victim))).body.token);
    await enrolTotp(thief);
    expect((await thief.post("/v1/users/me/email", { email: newAddress() })).status).toBe(200);
    const texts = (await mailsTo(postern, email, 2)).map(({ text }) => text);
    const [link = expect.unreachable()] = texts.flatMap((text) => /^http\S+restore\S+$/m.exec(text)?.[0] ?? []);
    expect(titleOf(await restore(link))).toBe(pageText("restored_title", "en"));
    expect((await userOf(userId)).email).toBe(email);
  });

  test("has no such link after a sign-in with a second factor, or from an administrator", async () => {
    const withFactor = await withTotp(postern);
    const plain = await person();
    const email = await setAddress(withFactor.userId, { isVerified: true });
    await using probe = openProbe(postern.databaseUrl);
    await probe.sql`update factors set created = created - interval '73 hours' where user_id = ${withFactor.userId}`;
    expect((await withFactor.client.post("/v1/users/me/email", { email: newAddress() })).status).toBe(200);
    await setAddress(plain.userId, { isVerified: true });
    for (const one of [email, plain.email]) {
      const [mail = expect.unreachable()] = await mailsTo(postern, one);
      expect(mail.subject).toBe(mailTexts.email_replaced.en.subject);
      expect(mail.text).toContain(`${issuer}/account\n`);
    }
    const users = [withFactor.userId, plain.userId];
    expect(await probe.sql`select from mail_codes where user_id in ${probe.sql(users)} and purpose = 'undo'`).toEqual(
      [],
    );
  });
});

describe("a mail tells", () => {
  test("of each new password, however it is set, with the way to another one", async () => {
    const { userId, username: loginName, email, password, client } = await person();
    const passwords = { oldPassword: password, newPassword: "Green-Teapot-43" };
    expect((await client.put("/v1/users/me/password", passwords)).status).toBe(200);
    await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-44" });
    const beside = { loginName, password: "Green-Teapot-44", newPassword: "Green-Teapot-45" };
    expect((await postern.as().post("/v1/sessions", beside)).status).toBe(200);
    const mails = await mailsTo(postern, email, 3);
    expect(mails.map(({ subject }) => subject)).toEqual(Array(3).fill(mailTexts.password_changed.en.subject));
    for (const { text, html } of mails) {
      expect(text).toContain(`${wayBackLabel.en}\n${issuer}/password/forgotten\n`);
      expect([text, html].join()).toContain(loginName);
    }
    await askFor(loginName);
    await choose(await linkTo(email, 4));
    expect(await subjectsTo(email, 5)).toContain(mailTexts.password_changed.en.subject);
  });

  test("of a factor that was added and of one that was removed, once for an enrolment with its recovery codes", async () => {
    const { userId, email, client } = await person();
    const { factorId } = await enrolTotp(client);
    expect((await client.post("/v1/users/me/factors:generateRecoveryCodes")).status).toBe(200);
    expect((await client.delete(`/v1/users/me/factors/${factorId}`)).status).toBe(200);
    const mails = await mailsTo(postern, email, 2);
    // Each is on its way by itself.
    expect(mails.map(({ subject }) => subject).sort()).toEqual(
      [mailTexts.factor_added.en.subject, mailTexts.factor_removed.en.subject].sort(),
    );
    const added = mails.find(({ subject }) => subject === mailTexts.factor_added.en.subject);
    expect(added?.text).toContain(`${issuer}/account/factors\n`);
    await using probe = openProbe(postern.databaseUrl);
    expect(await probe.sql`select from mail_sends where user_id = ${userId} and purpose like 'factor%'`).toHaveLength(
      2,
    );
  });

  test("nobody at an address that is not verified", async () => {
    const { userId, username } = await signedUp(postern);
    await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-44" });
    await using probe = openProbe(postern.databaseUrl);
    expect(await probe.sql`select from mail_sends where user_id = ${userId} and purpose = 'password_changed'`).toEqual(
      [],
    );
    expect((await allMails(postern)).filter(({ to }) => to.startsWith(username))).toEqual([]);
  });

  test("no more often than codes may be sent, and only of what the settings name", async () => {
    await using quiet = await startPostern({ mailSendsPerUser: 2, mailNotices: ["password"] });
    const { userId, username, client } = await signedUp(quiet);
    const email = `${username}@example.com`;
    await quiet.admin.post(`/v1/users/${userId}/email`, { email, isVerified: true });
    await enrolTotp(client);
    for (let nth = 0; nth < 4; nth++) {
      const set = await quiet.admin.put(`/v1/users/${userId}/password`, { newPassword: `Green-Teapot-${nth}` });
      expect(set.status).toBe(200);
    }
    const mails = await mailsTo(quiet, email, 2);
    expect(mails.map(({ subject }) => subject)).toEqual([
      mailTexts.password_changed.en.subject,
      mailTexts.password_changed.en.subject,
    ]);
    await using probe = openProbe(quiet.databaseUrl);
    expect(await probe.sql`select from mail_sends where user_id = ${userId}`).toHaveLength(2);
    expect(await probe.sql`select from mail_messages where user_id = ${userId} and kind <> 'password_changed'`).toEqual(
      [],
    );
  });
});
