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

/** Seals the codes of a mail, to be opened when it is sent. */
export const sealMail = (keyring: Keyring, of: MailOf, codes: MailCodes): Uint8Array =>
  keyring.seal(Buffer.from(JSON.stringify(codes)), contextOf(of));

/** Opens the codes of a mail. */
export function openMail(keyring: Keyring, { sealed, ...of }: MailOf & { sealed: Uint8Array }): MailCodes {
  return JSON.parse(Buffer.from(keyring.open(sealed, contextOf(of))).toString("utf8"));
}

const subjectOf = ({ id, userId, email }: EmailCodeOf) => `${purpose} ${id} ${userId} ${email}`;

const contextOf = ({ id, email }: MailOf) => `mail ${id} ${email}`;
