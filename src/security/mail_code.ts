import { codeMac, codeMacs, codeMatches, newCode } from "./code.ts";
import type { Keyring } from "./seal.ts";

/** The identity of a code that verifies an e-mail address: its id, the user, and the address. */
export type EmailCodeOf = { readonly id: string; readonly userId: string; readonly email: string };

/** The codes that a mail brings, each with the login name of its account. */
export type MailCodes = readonly { readonly loginName: string; readonly code: string }[];

/** The identity of a mail: its id and the address that it goes to. */
export type MailOf = { readonly id: string; readonly email: string };

const purpose = "email code";

/** Makes a code that verifies an e-mail address: its text, and its HMAC to check it by. */
export function makeEmailCode(keyring: Keyring, of: EmailCodeOf) {
  const code = newCode();
  return { code, mac: codeMac(keyring, { purpose, subject: subjectOf(of), code }) };
}

/** Compares a typed code with the one that was made, in constant time. */
export function emailCodeMatches(keyring: Keyring, { mac, ...of }: EmailCodeOf & { mac: Uint8Array }, typed: string) {
  return codeMatches(keyring, mac, { purpose, subject: subjectOf(of), code: typed });
}

// A guess at one of these codes is a guess at those of all users at once: 77 random bits leave no chance.
const passwordCodeLength = 16;
const passwordPurpose = "password code";

/** Makes a code that sets a password: its text, and its HMAC, by which it is found. */
export function makePasswordCode(keyring: Keyring) {
  const code = newCode(undefined, passwordCodeLength);
  return { code, mac: codeMac(keyring, { purpose: passwordPurpose, subject: "", code }) };
}

/** Returns the HMACs of a typed code under every master key. */
export const passwordCodeMacs = (keyring: Keyring, typed: string): readonly Buffer[] =>
  codeMacs(keyring, { purpose: passwordPurpose, subject: "", code: typed });

const undoPurpose = "undo code";

/** Makes a code that restores a former address: its text, and its HMAC, by which it is found. */
export function makeUndoCode(keyring: Keyring) {
  const code = newCode(undefined, passwordCodeLength);
  return { code, mac: codeMac(keyring, { purpose: undoPurpose, subject: "", code }) };
}

/** Returns the HMACs of such a code under every master key. */
export const undoCodeMacs = (keyring: Keyring, code: string): readonly Buffer[] =>
  codeMacs(keyring, { purpose: undoPurpose, subject: "", code });

/** A user of an organization and the code that verifies its address. */
export type EmailLink = { readonly owner: string; readonly userId: string; readonly code: string };

const linkContext = "link of an e-mail code";

/**
 * Seals a user and a code for the link of a mail: a code of six characters is worth something with its user alone, whom the link
 * must not name, and whose few tries nobody without the mail may use up.
 */
export const sealEmailLink = (keyring: Keyring, { owner, userId, code }: EmailLink): string =>
  Buffer.from(keyring.seal(Buffer.from(JSON.stringify([owner, userId, code])), linkContext)).toString("base64url");

/** Opens what the link of a mail brings; undefined for anything that was not sealed here. */
export function openEmailLink(keyring: Keyring, sealed: string): EmailLink | undefined {
  try {
    const content = keyring.open(Buffer.from(sealed, "base64url"), linkContext);
    const [owner, userId, code] = JSON.parse(Buffer.from(content).toString("utf8")) as [string, string, string];
    return { owner, userId, code };
  } catch {
    return undefined;
  }
}

/** Seals the codes of a mail, to be opened when it is sent. */
export const sealMail = (keyring: Keyring, of: MailOf, codes: MailCodes): Uint8Array =>
  keyring.seal(Buffer.from(JSON.stringify(codes)), contextOf(of));

/** Opens the codes of a mail. */
export function openMail(keyring: Keyring, { sealed, ...of }: MailOf & { sealed: Uint8Array }): MailCodes {
  return JSON.parse(Buffer.from(keyring.open(sealed, contextOf(of))).toString("utf8"));
}

const subjectOf = ({ id, userId, email }: EmailCodeOf) => `${purpose} ${id} ${userId} ${email}`;

const contextOf = ({ id, email }: MailOf) => `mail ${id} ${email}`;
