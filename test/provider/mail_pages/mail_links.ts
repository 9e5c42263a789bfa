import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { type Postern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { issuerOf } from "../application.ts";
import { type Browser, openBrowser, type Shown, textIn } from "../browser.ts";

export const newPassword = "Green-Teapot-77";

export const newAddress = () => `ada.${randomBytes(6).toString("hex")}@example.com`;

export const titleOf = ({ text }: Shown) => found(text, /<h1>([^<]*)<\/h1>/);
export const alertOf = ({ text }: Shown) => found(text, /role="alert">([^<]*)</);

const found = (text: string, pattern: RegExp) => (pattern.test(text) ? textIn(text, pattern) : undefined);

/** What users do with mails, at a server that may start later. */
export function mailLinks(postern: () => Postern) {
  const browserThere = () => openBrowser(issuerOf(postern()));
  return { setAddress, person, linkTo, askFor, choose };

  /** Sets the address of a user, verified or with a mail to it. */
  async function setAddress(userId: string, how: object, email = newAddress()): Promise<string> {
    const { status, body } = await postern().admin.post(`/v1/users/${userId}/email`, { email, ...how });
    expect([status, body]).toEqual([200, expect.anything()]);
    return email;
  }

  /** A person with a password and a verified address. */
  async function person() {
    const user = await signedUp(postern());
    return { ...user, email: await setAddress(user.userId, { isVerified: true }) };
  }

  /** The link of the newest of some mails to an address. */
  async function linkTo(email: string, count = 1): Promise<string> {
    const mails = await mailsTo(postern(), email, count);
    return /^http\S+$/m.exec(mails.at(-1)?.text ?? "")?.[0] ?? expect.unreachable(JSON.stringify(mails));
  }

  /** Asks for a mail on the page for forgotten passwords. */
  async function askFor(account: string, browser = browserThere()): Promise<Shown> {
    const page = await browser.open(`${issuerOf(postern())}/password/forgotten`);
    return browser.submit(page, { account }, "send");
  }

  /** Sets a password by the link of a mail. */
  async function choose(link: string, browser: Browser = browserThere(), password = newPassword): Promise<Shown> {
    return browser.submit(await browser.open(link), { new_password: password }, "save");
  }
}
