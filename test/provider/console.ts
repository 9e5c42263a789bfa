import { expect } from "vitest";
import { answerIn, challenge, type Person, post, signIn, verifier } from "./application.ts";
import { type Browser, openBrowser } from "./browser.ts";

export const consoleId = "postern console";

/** The URL of a request of the console; a parameter that is undefined is left out. */
export function consoleUrl(node: string, issuer: string, more: Readonly<Record<string, string | undefined>> = {}) {
  const all = {
    ...{ client_id: consoleId, redirect_uri: `${issuer}/console/`, response_type: "code", scope: "openid" },
    ...{ state: "s1", code_challenge: challenge, code_challenge_method: "S256" },
    ...more,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${node}/oauth/authorize?${new URLSearchParams(given)}`;
}

/** Exchanges a code of the console. */
export const exchangeOf = (node: string, issuer: string, code: string, more: Readonly<Record<string, string>> = {}) =>
  post(node, "/oauth/token", {
    ...{ grant_type: "authorization_code", client_id: consoleId, redirect_uri: `${issuer}/console/` },
    ...{ code, code_verifier: verifier, ...more },
  });

/** Signs a person in to the console in a browser, and answers the token that its page gets. */
export async function atConsole(node: string, issuer: string, person: Pick<Person, "username" | "password">) {
  const browser = openBrowser(node);
  const { code = "" } = answerIn(await signIn(browser, consoleUrl(node, issuer), person));
  const { status, body } = await exchangeOf(node, issuer, code);
  expect([status, body]).toEqual([200, expect.anything()]);
  return { browser, code, token: body.access_token as string };
}

/** Asks for another token without a page, as the console does before the end of one. */
export async function renewed(browser: Browser, node: string, issuer: string, more: Record<string, string> = {}) {
  return answerIn(await browser.open(consoleUrl(node, issuer, { prompt: "none", ...more })));
}
