import { decodeJwt } from "jose";
import { expect } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { codeOf } from "../../fixture/authenticator.ts";
import { latestCode } from "../../fixture/sign_in_mail.ts";
import { authorizeUrl, basic, exchange, issuerOf, post } from "../application.ts";
import { type Browser, openBrowser, type Shown, textIn } from "../browser.ts";
import { answerPasskey } from "../passkey_page.ts";
import { type Place, type Somebody, unusedCode, type World } from "./world.ts";

/** What an application asks for. */
export type Asked = { readonly scopes: readonly string[]; readonly organizationId: string };

export type Claims = Readonly<Record<string, unknown>>;

/** What came of a real sign-in: how it began, what the pages asked, where it ended, and what the application got. */
export type Outcome = {
  readonly began: "PASSWORD" | "PASSKEY" | "MAILED_CODE" | undefined;
  readonly asked: readonly string[];
  readonly refusedAt: string | undefined;
  readonly idToken?: Claims | undefined;
  readonly accessToken?: Claims | undefined;
  readonly userinfo?: Claims | undefined;
};

const organizationScope = "urn:postern:organization:id:";

/** Signs somebody in at the application, in a browser that nobody knows, as a person who does all that the pages ask. */
export async function signedIn(place: Place, world: World, { scopes, organizationId }: Asked): Promise<Outcome> {
  const issuer = issuerOf(place.postern);
  const browser = openBrowser(issuer);
  const scope = [...scopes, ...(organizationId ? [organizationScope + organizationId] : [])].join(" ");
  const isCode = world.responseType === "code";
  const more = isCode ? {} : { code_challenge: undefined, code_challenge_method: undefined };
  const url = authorizeUrl(issuer, world.app, { ...more, scope, response_type: world.responseType });
  await unusedCode(place.probe, world.somebody.userId);
  const first = await browser.open(url);
  if (!first.text.includes('name="password"'))
    return { ...nothing, refusedAt: first.status === 400 ? pageProblem(first) : "REQUEST" };
  const begun = await firstStep(place, browser, { page: first, somebody: world.somebody });
  if (!begun) return { ...nothing, refusedAt: "FIRST_STEP" };
  const asked: string[] = [];
  const last = await answered(browser, { page: begun.page, somebody: world.somebody, asked });
  const { began } = begun;
  const given = new URLSearchParams(new URL(last.url).search || new URL(last.url).hash.slice(1));
  const refusedAt = refusedBy(given);
  if (refusedAt !== undefined) return { began, asked, refusedAt };
  return { began, asked, refusedAt, ...(await received(place, world, given)) };
}

const nothing = { began: undefined, asked: [] } as const;

/** What a page says that sends nobody back to the application. */
const pageProblem = ({ text }: Shown): string =>
  text.includes(pageText("client_unknown", "en")) ? "APPLICATION" : "REQUEST";

function refusedBy(given: URLSearchParams): string | undefined {
  const description = given.get("error_description") ?? "";
  if (given.get("error") === null) return undefined;
  if (description.includes("may not use")) return "ACCESS";
  if (description.includes("no part in the organization")) return "ORGANIZATION";
  return `${given.get("error")}: ${description}`;
}

type At = { readonly page: Shown; readonly somebody: Somebody };

/** Tries what the person has: the password, then a passkey, then a mailed code. */
async function firstStep({ postern }: Place, browser: Browser, { page, somebody }: At) {
  const { loginName, password, passkey, email, isMailed } = somebody;
  const tried = await browser.submit(page, { login_name: loginName, password });
  if (tried.status < 400) return { began: "PASSWORD", page: tried } as const;
  expect([401, 429]).toContain(tried.status);
  if (passkey) {
    const shown = await answerPasskey(browser, tried, passkey);
    if (shown.status < 400) return { began: "PASSKEY", page: shown } as const;
  }
  if (!isMailed) return undefined;
  const question = await browser.submit(page, { login_name: loginName }, "mail");
  if (!question.text.includes("one-time-code")) return undefined;
  somebody.mails++;
  const code = await latestCode(postern, email, somebody.mails);
  const shown = await browser.submit(question, { code }, "code");
  return shown.status < 400 ? ({ began: "MAILED_CODE", page: shown } as const) : undefined;
}

/** Answers what the pages ask after the first step, and notes it. */
async function answered(
  browser: Browser,
  { page, somebody, asked }: At & { readonly asked: string[] },
): Promise<Shown> {
  let shown = page;
  for (;;) {
    const question = questions.find(({ sign }) => shown.text.includes(sign));
    if (!question) return shown;
    if (asked.includes(question.name)) throw new Error(`${question.name} is asked twice: ${shown.text}`);
    asked.push(question.name);
    shown = await question.answer(browser, shown, somebody);
  }
}

type Question = {
  readonly name: string;
  /** What its page contains, and no other page. */
  readonly sign: string;
  readonly answer: (browser: Browser, page: Shown, somebody: Somebody) => Promise<Shown>;
};

const questions: readonly Question[] = [
  {
    name: "PASSWORD_CHANGE",
    sign: 'name="new_password"',
    async answer(browser, page, somebody) {
      const { loginName, password } = somebody;
      const replaced = `${password}!`;
      const shown = await browser.submit(page, { login_name: loginName, password, new_password: replaced });
      somebody.password = replaced;
      return shown;
    },
  },
  {
    name: "ENROLMENT",
    sign: 'name="action" value="app"',
    async answer(browser, page, somebody) {
      const shown = await browser.submit(page, {}, "app");
      const secret = textIn(shown.text, /<code>([A-Z2-7 ]+)<\/code>/).replaceAll(" ", "");
      const added = await browser.submit(shown, { code: codeOf(secret), name: "Phone" }, "confirm_app");
      somebody.totp = secret;
      return browser.submit(added, {}, "done");
    },
  },
  {
    name: "FACTOR",
    sign: 'name="pending"',
    answer: (browser, page, { totp, passkey }) =>
      totp === undefined
        ? answerPasskey(browser, page, passkey ?? expect.unreachable())
        : browser.submit(page, { code: codeOf(totp) }, "factor"),
  },
  { name: "CONSENT", sign: 'value="allow"', answer: (browser, page) => browser.submit(page, {}, "allow") },
];

/** What the application gets: the claims of its tokens, or of what introspection says, and of userinfo. */
async function received({ postern }: Place, world: World, given: URLSearchParams) {
  const issuer = issuerOf(postern);
  const code = given.get("code");
  const tokens: Record<string, string> =
    code === null ? Object.fromEntries(given) : (await exchange(issuer, world.app, code)).body;
  const { id_token: idToken, access_token: accessToken } = tokens;
  return {
    idToken: idToken === undefined ? undefined : decodeJwt(idToken),
    accessToken: accessToken === undefined ? undefined : await accessClaims(issuer, world, accessToken),
    userinfo: accessToken === undefined ? undefined : await userinfoOf(issuer, accessToken),
  };
}

async function accessClaims(issuer: string, { app, isJwt }: World, token: string): Promise<Claims> {
  if (isJwt) return decodeJwt(token);
  const { status, body } = await post(issuer, "/oauth/introspect", { token }, basic(app));
  expect(status).toBe(200);
  return body;
}

async function userinfoOf(issuer: string, token: string): Promise<Claims | undefined> {
  const answer = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  if (answer.status === 403) return undefined;
  expect(answer.status).toBe(200);
  return (await answer.json()) as Claims;
}
