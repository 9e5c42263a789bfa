import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { withTotp, wrongCodeOf } from "../../fixture/factors.ts";
import { type Postern, sharedPostern } from "../../harness.ts";
import { answerIn, application, authorizeUrl, exchange, issuerOf, signIn } from "../application.ts";
import { openBrowser } from "../browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

test("a page asks for the code of a factor, and the ID token says how its user signed in", async () => {
  const [app, person] = [await application(postern.admin), await withTotp(postern)];
  const browser = openBrowser(issuer);
  const asked = await signIn(browser, authorizeUrl(issuer, app), person);
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('autocomplete="one-time-code"')]);
  const again = await browser.submit(asked, { code: wrongCodeOf(person.secret) }, "factor");
  expect([again.status, again.text]).toEqual([401, expect.stringContaining(pageText("wrong_code", "en"))]);
  const back = await browser.submit(again, { code: person.code(0).replace(/^.../, "$& ") }, "factor");
  const { body } = await exchange(issuer, app, answerIn(back).code ?? "");
  expect(decodeJwt(body.id_token)).toMatchObject({
    sub: person.userId,
    amr: ["pwd", "otp", "mfa"],
    acr: "urn:postern:acr:multi-factor",
  });
});

test("a recovery code signs in once, and a sign-in that waits for a factor is worth nothing without one", async () => {
  const [app, person] = [await application(postern.admin), await withTotp(postern)];
  const { codes } = (await person.client.post("/v1/users/me/factors:generateRecoveryCodes")).body;
  const begun = async () => {
    const browser = openBrowser(issuer);
    return { browser, asked: await signIn(browser, authorizeUrl(issuer, app), person) };
  };
  const [first, second] = [await begun(), await begun()];
  const back = await first.browser.submit(first.asked, { code: codes[0] }, "factor");
  expect(answerIn(back).code).toEqual(expect.any(String));
  const refused = await second.browser.submit(second.asked, { code: codes[0] }, "factor");
  expect(refused.status).toBe(401);
  const without = await second.browser.open(authorizeUrl(issuer, app, { prompt: "none" }));
  expect(answerIn(without).error).toBe("login_required");
});
