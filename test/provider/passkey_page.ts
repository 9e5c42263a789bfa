import { expect } from "vitest";
import type { Authenticator, Options, Page } from "../fixture/authenticator.ts";
import type { Answer, Postern } from "../harness.ts";
import { type Browser, type Shown, textIn } from "./browser.ts";

/** The options that a page has for its script. */
export const optionsIn = ({ text }: Pick<Shown, "text">): Options => JSON.parse(textIn(text, /data-options="([^"]*)"/));

/** Sends the form of a passkey, as the script of the page does. */
export const sendPasskey = (browser: Browser, page: Shown, credential: unknown, more: Record<string, string> = {}) =>
  browser.submit(page, { ...more, credential: JSON.stringify(credential) }, "passkey");

/** Answers the request options of a page. */
export const answerPasskey = (browser: Browser, page: Shown, key: Authenticator, different: Page = {}) =>
  sendPasskey(browser, page, key.get(optionsIn(page), different));

/** The reasons for which a factor was refused, the newest first. */
export async function refusalsOf({ admin }: Pick<Postern, "admin">, factorId: string): Promise<unknown[]> {
  const { status, body }: Answer = await admin.get(`/v1/events?objectId=${factorId}&types=factor.refused`);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.events.map((event: { fact: { factor: { refused: { reason: string } } } }) => event.fact.factor.refused);
}
