import { afterAll, beforeAll, expect, test } from "vitest";
import { text } from "../../../src/messages/catalogue.ts";
import { pageText } from "../../../src/messages/page.ts";
import { passwordTexts } from "../../../src/messages/refusals/password.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { type Answer, organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { openProbe } from "../../probe.ts";
import { application, authorizeUrl, issuerOf, type Person, signIn } from "../application.ts";
import { openBrowser, type Shown } from "../browser.ts";
import { newAddress } from "../mail_pages/mail_links.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const human = async (userId: string) => done(await postern.admin.get(`/v1/users/${userId}`)).user.human;
const alerts = ({ text }: Shown) => [...text.matchAll(/role="alert">([^<]*)</g)].map(([, said]) => said);
/** The attributes of a page's field. */
const fieldIn = ({ text }: Shown, name: string) =>
  new RegExp(`<(?:input|select|textarea) [^>]*name="${name}"[^>]*>`).exec(text)?.[0] ?? expect.unreachable(name);

/** A page of somebody's account, in a browser that has just signed in there. */
async function at(path: string, person: Person) {
  const browser = openBrowser(issuer);
  const page = await signIn(browser, issuer + path, person);
  expect([page.status, page.url]).toEqual([200, issuer + path]);
  return { browser, page, again: () => browser.open(issuer + path) };
}

/** From now on, the sign-ins of a user are old. */
async function madeStale(userId: string) {
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update browser_sessions set auth_time = auth_time - interval '11 minutes' where user_id = ${userId}`;
}

test("the profile changes names, address and language, keeps what was typed, and says which field is wrong", async () => {
  const person = await signedUp(postern);
  const { browser, page, again } = await at("/account/profile", person);
  expect(fieldIn(page, "given_name")).toContain('value="Ada"');
  const typed = {
    ...{
      given_name: " Augusta ",
      family_name: "King <Lovelace>",
      language: "de",
      street_address: "Ockham Park\r\nEast wing",
    },
    ...{ postal_code: "GU23", locality: "", region: "Surrey", country: "United Kingdom" },
  };
  const wrong = await browser.submit(page, { ...typed, family_name: "", postal_code: "9".repeat(51) }, "save");
  expect([wrong.status, alerts(wrong)]).toEqual([
    400,
    [
      `${pageText("family_name", "en")} – ${text("FIELD_REQUIRED", "en")}`,
      `${pageText("postal_code", "en")} – ${text("TEXT_MAX", "en", { max: 50 })}`,
    ],
  ]);
  expect(fieldIn(wrong, "given_name")).toContain('value=" Augusta "');
  expect(wrong.text).toContain("Ockham Park\r\nEast wing</textarea>");
  for (const name of ["family_name", "postal_code"])
    expect(fieldIn(wrong, name)).toContain('aria-invalid="true" aria-describedby="problem"');
  expect([fieldIn(wrong, "family_name").includes("autofocus"), fieldIn(wrong, "country").includes("invalid")]).toEqual([
    true,
    false,
  ]);
  expect((await human(person.userId)).familyName).not.toBe("");
  for (const language of ["de_CH", "i-klingon", "!!"]) {
    const odd = await browser.submit(page, { ...typed, language }, "save");
    expect([odd.status, alerts(odd)]).toEqual([
      400,
      [`${pageText("language", "en")} – ${text("TEXT_LANGUAGE", "en")}`],
    ]);
  }

  const saved = await browser.submit(wrong, typed, "save");
  expect([saved.status, saved.url]).toEqual([200, `${issuer}/account/profile?saved=1`]);
  // The page is in the language that was chosen, from now on.
  expect(saved.text).toContain(pageText("account_saved", "de"));
  expect(fieldIn(await again(), "family_name")).toContain('value="King &lt;Lovelace&gt;"');
  expect(await human(person.userId)).toMatchObject({
    ...{ givenName: "Augusta", familyName: "King <Lovelace>", language: "de" },
    address: {
      streetAddress: "Ockham Park\nEast wing",
      postalCode: "GU23",
      region: "Surrey",
      country: "United Kingdom",
    },
  });
  const nothing = { street_address: "", postal_code: "", region: "", country: "", language: "" };
  await browser.submit(await again(), { ...typed, ...nothing }, "save");
  const { address, language } = await human(person.userId);
  expect([address, language]).toEqual([undefined, undefined]);
});

test("an address is changed by a fresh sign-in alone, and the old one is told", async () => {
  const person = await signedUp(postern);
  const [old, email] = [newAddress(), newAddress()];
  done(await postern.admin.post(`/v1/users/${person.userId}/email`, { email: old, isVerified: true }));
  const { browser, page, again } = await at("/account/email", person);
  const malformed = await browser.submit(page, { email: "ada at home" }, "change");
  expect([malformed.status, fieldIn(malformed, "email")]).toEqual([
    400,
    expect.stringContaining('value="ada at home"'),
  ]);
  expect(alerts(await browser.submit(page, { email: old }, "change"))).toEqual([pageText("email_same", "en")]);

  await madeStale(person.userId);
  const asked = await browser.submit(page, { email }, "change");
  expect([asked.text.includes('name="password"'), (await human(person.userId)).email]).toEqual([true, old]);
  const closed = await again();
  expect([closed.text.includes('name="email"'), closed.text]).toEqual([
    false,
    expect.stringContaining(pageText("sign_in_first", "en")),
  ]);
  const signing = await browser.submit(closed, {}, "begin");
  const open = await browser.submit(signing, { login_name: person.username, password: person.password });
  expect(open.url).toBe(`${issuer}/account/email`);
  const changed = await browser.submit(open, { email }, "change");
  expect(changed.text).toContain(pageText("email_unconfirmed", "en", { email }));
  const home = async () => (await browser.open(`${issuer}/account`)).text;
  expect(await home()).toContain(`${pageText("email_open", "en", { email })} <a href="/account/email">`);
  const [notice] = await mailsTo(postern, old);
  expect(notice?.text).toContain("/email/restore");
  const [mail] = await mailsTo(postern, email);
  const code = /^[2-9B-Z]{6}$/m.exec(mail?.text ?? "")?.[0] ?? "";
  await browser.submit(changed, { code }, "confirm");
  expect(await human(person.userId)).toMatchObject({ email, emailVerified: true });
  expect(await home()).toContain(`${pageText("email_confirmed", "en", { email })}</p>`);
});

test("a phone is added, confirmed by its code, changed, and removed after a question", async () => {
  const person = await signedUp(postern);
  const { browser, page, again } = await at("/account/phone", person);
  expect(page.text).toContain(pageText("phone_none", "en"));
  const wrong = await browser.submit(page, { phone: "12 <34>" }, "change");
  expect([wrong.status, fieldIn(wrong, "phone")]).toEqual([400, expect.stringContaining('value="12 &lt;34&gt;"')]);
  const added = await browser.submit(wrong, { phone: "+41 44 668 18 00" }, "change");
  expect(added.text).toContain(pageText("phone_unconfirmed", "en", { phone: "+41446681800" }));
  const guess = await browser.submit(added, { code: "222222" }, "confirm");
  expect(alerts(guess)).toEqual([text("CODE_INVALID", "en")]);
  expect([guess.status, fieldIn(guess, "code"), (await human(person.userId)).phoneVerified]).toEqual([
    400,
    expect.stringContaining('aria-invalid="true"'),
    false,
  ]);
  const sent = await browser.submit(guess, {}, "send");
  expect(sent.text).toContain(pageText("phone_sent", "en", { phone: "+41446681800" }));
  const resend = await postern.admin.post(`/v1/users/${person.userId}/phone:resend`, { returnCode: {} });
  const proven = await browser.submit(sent, { code: done(resend).verificationCode }, "confirm");
  expect(proven.text).toContain(pageText("phone_confirmed", "en", { phone: "+41446681800" }));
  expect(alerts(await browser.submit(proven, { phone: "+41446681800" }, "change"))).toEqual([
    pageText("phone_same", "en"),
  ]);
  const question = await browser.submit(await again(), {}, "ask_remove");
  expect((await human(person.userId)).phone).toBe("+41446681800");
  expect((await browser.submit(question, {}, "remove")).text).toContain(pageText("phone_none", "en"));
  expect((await human(person.userId)).phone).toBeUndefined();
});

test("a password is changed by the old one, with the rules beside it, and the other sessions end", async () => {
  const organizationId = await organization(postern);
  const policy = { minimumLength: 12, requiresDigit: true };
  done(await postern.admin.put("/v1/policies/password", { policy }, { "x-service-orgid": organizationId }));
  const person = await signedUp(postern, { organizationId });
  const { browser, page } = await at("/account/password", person);
  // Without a script, too, the rules that hold are there, and no others.
  expect([...page.text.matchAll(/data-rule="([^"]*)">([^<]*)</g)].map(([, rule, text]) => [rule, text])).toEqual([
    ["length 12", "at least 12 characters"],
    ["digit", "a digit"],
  ]);
  expect(fieldIn(page, "new_password")).toContain('aria-describedby="rules"');
  const weak = { old_password: person.password, new_password: "only-letters" };
  const broken = await browser.submit(page, weak, "change");
  expect([broken.status, alerts(broken)]).toEqual([400, [passwordTexts.PASSWORD_NO_DIGIT.en]]);
  expect(fieldIn(broken, "new_password")).toContain('aria-describedby="problem rules" autofocus');
  const mistaken = await browser.submit(page, { old_password: "Wrong-1", new_password: "Green-Teapot-43" }, "change");
  expect([mistaken.status, alerts(mistaken)]).toEqual([400, [passwordTexts.PASSWORD_MISMATCH.en]]);
  expect(fieldIn(mistaken, "old_password")).toContain('aria-invalid="true" aria-describedby="problem" autofocus');
  for (const { text } of [broken, mistaken])
    for (const secret of [person.password, "only-letters", "Green-Teapot-43"]) expect(text).not.toContain(secret);

  const changed = await browser.submit(
    page,
    { old_password: person.password, new_password: "Green-Teapot-43" },
    "change",
  );
  expect(changed.text).toContain(pageText("account_saved", "en"));
  expect((await person.client.get("/v1/users/me")).status).toBe(401);
  const tries = [person.password, "Green-Teapot-43"].map(
    async (password) => (await postern.as().post("/v1/sessions", { loginName: person.username, password })).status,
  );
  expect(await Promise.all(tries)).toEqual([401, 200]);
});

test("an account is deleted after a question, where the policy allows it, and the browser's other accounts stay", async () => {
  const organizationId = await organization(postern);
  const within = { "x-service-orgid": organizationId };
  const [person, other] = [await signedUp(postern, { organizationId }), await signedUp(postern)];
  const guarded = await at("/account/delete", person);
  expect(guarded.page.text).toMatch(patternOf(pageText("delete_closed", "en")));
  expect(guarded.page.text).not.toContain('value="ask"');
  const policy = { restoreDays: 3, selfErasure: true };
  done(await postern.admin.put("/v1/policies/privacy", { policy }, within));

  const { browser, page } = await at("/account/delete", person);
  await signIn(browser, authorizeUrl(issuer, await application(postern.admin), { prompt: "login" }), other);
  const home = await browser.open(`${issuer}/account`);
  expect(home.text).toContain(`<b>${other.username}</b>`);
  expect((await browser.submit(page, {}, "ask")).status).toBe(403);

  const own = await at("/account/delete", person);
  const question = await own.browser.submit(own.page, {}, "ask");
  expect(question.text).toContain(`<h1>${pageText("delete_title", "en")}</h1>`);
  expect(question.text).toContain(pageText("delete_days", "en", { days: "3 days" }));
  await madeStale(person.userId);
  const asked = await own.browser.submit(question, {}, "delete");
  expect([asked.text.includes('name="password"'), await human(person.userId)]).toEqual([true, expect.anything()]);
  const fresh = await own.browser.submit(asked, { login_name: person.username, password: person.password });
  const deleted = await own.browser.submit(await own.browser.submit(fresh, {}, "ask"), {}, "delete");
  expect(deleted.text).toContain(`<h1>${pageText("deleted_title", "en")}</h1>`);
  expect((await postern.admin.get(`/v1/users/${person.userId}`)).status).toBe(404);
  expect((await own.again()).text).toContain('name="password"');
  const [event] = done(await postern.admin.get(`/v1/events?objectId=${person.userId}&pageSize=1`, within)).events;
  expect(event).toMatchObject({ type: "user.erasure_scheduled", actorId: person.userId });
  expect((await browser.open(`${issuer}/account`)).text).toContain(`<b>${other.username}</b>`);
});

test("where the policy no longer allows it, a form that is still open deletes nobody", async () => {
  const organizationId = await organization(postern);
  const within = { "x-service-orgid": organizationId };
  const policy = { restoreDays: 3, selfErasure: true };
  done(await postern.admin.put("/v1/policies/privacy", { policy }, within));
  const person = await signedUp(postern, { organizationId });
  const { browser, page } = await at("/account/delete", person);
  const question = await browser.submit(page, {}, "ask");
  done(await postern.admin.delete("/v1/policies/privacy", within));
  const refused = await browser.submit(question, {}, "delete");
  expect([refused.status, alerts(refused)]).toEqual([400, [text("SELF_ERASURE_OFF", "en")]]);
  expect((await human(person.userId)).givenName).toBe("Ada");
});
