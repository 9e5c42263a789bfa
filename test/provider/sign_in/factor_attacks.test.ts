import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import type { Page } from "../../fixture/authenticator.ts";
import { withPasskey, withTotp } from "../../fixture/factors.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { type Application, answerIn, application, authorizeUrl, type Person, signIn } from "../application.ts";
import { type Browser, hiddenIn, openBrowser, type Shown } from "../browser.ts";
import { optionsIn, refusalsOf } from "../passkey_page.ts";

const issuer = "https://id.example";
let nodes: TwoNodes;
let app: Application;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: issuer });
  app = await application(nodes.one.admin);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

/** A browser with the page of a sign-in. */
async function opened() {
  const browser = openBrowser(nodes.one.url);
  return { browser, page: await browser.open(authorizeUrl(nodes.one.url, app)) };
}

/** A browser with the page that asks for a factor after the password. */
async function entered(person: Person) {
  const browser = openBrowser(nodes.one.url);
  return { browser, page: await signIn(browser, authorizeUrl(nodes.one.url, app), person) };
}

const outcomeOf = ({ status, text }: Shown) => [status, /<p class="bad" role="alert">([^<]*)/.exec(text)?.[1]];
const unproven = [401, pageText("passkey_wrong", "en")];
const over = [401, pageText("sign_in_over", "en")];

const wrong: Readonly<Record<string, readonly [Page, string]>> = {
  "of another origin": [{ origin: "https://evil.example" }, "FACTOR_REFUSAL_PROOF"],
  "of another relying party": [{ rpId: "evil.example" }, "FACTOR_REFUSAL_PROOF"],
  "to another challenge": [{ challenge: Buffer.alloc(32).toString("base64url") }, "FACTOR_REFUSAL_PROOF"],
  "without verification of the user": [{ isVerified: false }, "FACTOR_REFUSAL_PROOF"],
  "made in a frame of another origin": [{ crossOrigin: true }, "FACTOR_REFUSAL_PROOF"],
  "that names another user": [{ userHandle: Buffer.alloc(64).toString("base64url") }, "FACTOR_REFUSAL_USER"],
  "whose counter stays": [{ counter: 1 }, "FACTOR_REFUSAL_COUNTER"],
  "whose counter goes back": [{ counter: 0 }, "FACTOR_REFUSAL_COUNTER"],
};

describe.each([
  ["one node", () => nodes.one.url],
  ["two nodes", () => nodes.two.url],
] as const)("on %s", (_, there) => {
  const send = (browser: Browser, { text }: Shown, values: Readonly<Record<string, string>>) =>
    browser.send(`${there()}/sign-in`, {
      method: "POST",
      headers: { origin: issuer },
      body: new URLSearchParams({ ...hiddenIn(text), ...values }),
    });
  const answer = (browser: Browser, page: Shown, credential: unknown) =>
    send(browser, page, { action: "passkey", credential: JSON.stringify(credential) });

  // At once, because the fact of each takes up to a second.
  test.concurrent.each(Object.entries(wrong))(
    "an answer %s is refused, and leaves a fact",
    async (_name, [different, reason]) => {
      const { key, factorId, userId } = await withPasskey(nodes.one);
      const { browser, page } = await opened();
      const refused = await answer(browser, page, key.get(optionsIn(page), different));
      expect([outcomeOf(refused), await refusalsOf(nodes.one, factorId)]).toEqual([unproven, [{ userId, reason }]]);
      expect(browser.cookies.has("__Host-postern-session")).toBe(false);
      expect((await answer(browser, refused, key.get(optionsIn(refused), { counter: 9 }))).status).toBe(200);
    },
  );

  test("an answer of a passkey counts once: sent again it is refused, and leaves a fact", async () => {
    const { key, factorId } = await withPasskey(nodes.one);
    const { browser, page } = await opened();
    const credential = key.get(optionsIn(page));
    expect((await answer(browser, page, credential)).status).toBe(200);
    expect(outcomeOf(await answer(browser, page, credential))).toEqual(over);
    expect(await refusalsOf(nodes.one, factorId)).toMatchObject([{ reason: "FACTOR_REFUSAL_REPLAY" }]);
    const other = await opened();
    expect(outcomeOf(await answer(other.browser, other.page, credential))).toEqual(unproven);
  });

  test("after the password of one user the passkey of another is refused, and leaves a fact", async () => {
    const [person, other] = [await withPasskey(nodes.one), await withPasskey(nodes.one)];
    const { browser, page } = await entered(person);
    const options = optionsIn(page);
    expect(outcomeOf(await answer(browser, page, other.key.get(options)))).toEqual(unproven);
    const claimed = other.key.get(options, { userHandle: Buffer.alloc(64).toString("base64url") });
    expect(outcomeOf(await answer(browser, page, claimed))).toEqual(unproven);
    const { userId } = other;
    const refusal = { userId, reason: "FACTOR_REFUSAL_USER" };
    expect(await refusalsOf(nodes.one, other.factorId, 2)).toEqual([refusal, refusal]);
    expect(await refusalsOf(nodes.one, person.factorId, 0)).toEqual([]);
    expect((await answer(browser, page, person.key.get(options))).status).toBe(200);
  });

  test("a sign-in that ended with a passkey takes no other answer", async () => {
    const person = await withPasskey(nodes.one);
    const { browser, page } = await entered(person);
    expect((await answer(browser, page, person.key.get(optionsIn(page)))).status).toBe(200);
    expect(outcomeOf(await answer(browser, page, person.key.get(optionsIn(page))))).toEqual(over);
  });

  test("a code of an app counts once, in whatever sign-in, and leaves a fact when it comes again", async () => {
    const person = await withTotp(nodes.one);
    const code = person.code(0);
    const [first, second] = [await entered(person), await entered(person)];
    expect((await send(first.browser, first.page, { action: "factor", code })).status).toBe(200);
    const again = await send(second.browser, second.page, { action: "factor", code });
    expect(outcomeOf(again)).toEqual([401, pageText("wrong_code", "en")]);
    expect(await refusalsOf(nodes.one, person.factorId)).toMatchObject([{ reason: "FACTOR_REFUSAL_CODE" }]);
    expect(answerIn({ url: again.url }).code).toBe(undefined);
  });

  test("the challenge of one sign-in proves nothing in another", async () => {
    const { key } = await withPasskey(nodes.one);
    const [mine, theirs] = [await opened(), await opened()];
    const credential = key.get(optionsIn(theirs.page));
    expect(outcomeOf(await answer(mine.browser, mine.page, credential))).toEqual(unproven);
    const { challenge = "" } = hiddenIn(theirs.page.text);
    const changed = `${challenge.slice(0, -2)}${challenge.endsWith("AA") ? "BB" : "AA"}`;
    const cut = await send(mine.browser, mine.page, {
      ...{ action: "passkey", credential: JSON.stringify(credential) },
      challenge: changed,
    });
    expect(outcomeOf(cut)).toEqual(over);
  });
});
