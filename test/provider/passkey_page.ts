import { expect } from "vitest";
import { eventually } from "../first_start.ts";
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

type Refusal = { readonly factorId: string };
type Refused = { readonly fact: { readonly attempt: { readonly factorRefused: Refusal } } };

/** The refusals of a factor, the newest first, once so many of them are written. */
export function refusalsOf({ admin }: Pick<Postern, "admin">, factorId: string, least = 1): Promise<object[]> {
  const found = async () => {
    const { status, body }: Answer = await admin.get("/v1/events?types=attempt.factor_refused");
    expect([status, body]).toEqual([200, expect.anything()]);
    const refusals = (body.events as Refused[]).map(({ fact }) => fact.attempt.factorRefused);
    const ofFactor = refusals.filter((one) => one.factorId === factorId);
    return ofFactor.length >= least ? ofFactor.map(({ factorId: _, ...one }) => one) : undefined;
  };
  return eventually(found, `${least} refusals`);
}
