import { codeMac, codeMacs, codeMatches, newCode, normalizeCode } from "./code.ts";
import type { Keyring } from "./seal.ts";
import { hashToken } from "./token.ts";

/** The identity of a code that verifies an email address: its id, the user, and the address. */
export type EmailCodeOf = { readonly id: string; readonly userId: string; readonly email: string };

/** The codes in a mail, each with the login name of its account. A mail may have none. */
export type MailCodes = readonly { readonly loginName: string; readonly code?: string }[];

/** The identity of a mail: its id and the address that it goes to. */
export type MailOf = { readonly id: string; readonly email: string };

const purpose = "email code";

/** Makes a code that verifies an email address: its text, and the HMAC for checking it. */
export function makeEmailCode(keyring: Keyring, of: EmailCodeOf) {
  const code = newCode();
  return { code, mac: codeMac(keyring, { purpose, subject: subjectOf(of), code }) };
}

/** Compares a typed code with the original, in constant time. */
export function emailCodeMatches(keyring: Keyring, { mac, ...of }: EmailCodeOf & { mac: Uint8Array }, typed: string) {
  return codeMatches(keyring, mac, { purpose, subject: subjectOf(of), code: typed });
}

// Guessing one of these codes means guessing all users' codes at once; 77 random bits leave no chance.
const passwordCodeLength = 16;
const passwordPurpose = "password code";

/** Makes a code that sets a password: its text, and the HMAC for finding it. */
export function makePasswordCode(keyring: Keyring) {
  const code = newCode(undefined, passwordCodeLength);
  return { code, mac: codeMac(keyring, { purpose: passwordPurpose, subject: "", code }) };
}

/** The HMACs of a typed code under every master key. */
export const passwordCodeMacs = (keyring: Keyring, typed: string): readonly Buffer[] =>
  codeMacs(keyring, { purpose: passwordPurpose, subject: "", code: typed });

const linkPurpose = "administrator link";

/** Makes the code of a link that signs an administrator in: its text, and the HMAC for finding it. */
export function makeLinkCode(keyring: Keyring) {
  const code = newCode(undefined, passwordCodeLength);
  return { code, mac: codeMac(keyring, { purpose: linkPurpose, subject: "", code }) };
}

/** The HMACs of such a code under every master key. */
export const linkCodeMacs = (keyring: Keyring, code: string): readonly Buffer[] =>
  codeMacs(keyring, { purpose: linkPurpose, subject: "", code });

const signInPurpose = "sign-in code";

// A guess needs the token of the person who asked, and only a few mails go to a user. But anybody may ask for those of all users, so six
// characters would be too few for all of them together.
const signInCodeLength = 8;

/** Makes a code that signs a user in: its text, and the HMAC for checking it. */
export function makeSignInCode(keyring: Keyring, of: EmailCodeOf) {
  const code = newCode(undefined, signInCodeLength);
  return { code, mac: codeMac(keyring, { purpose: signInPurpose, subject: subjectOf(of), code }) };
}

/** Compares a typed code with the original, in constant time. */
export const signInCodeMatches = (
  keyring: Keyring,
  { mac, ...of }: EmailCodeOf & { readonly mac: Uint8Array },
  typed: string,
): boolean => codeMatches(keyring, mac, { purpose: signInPurpose, subject: subjectOf(of), code: typed });

/** The id of a requested code, whose sealed form only the requester has, and until when the code can be used. */
export type AskedCode = { readonly id: string; readonly until: Date };

const askedContext = "sign-in by mail";

/** Seals the id of a code, so that the waiting sign-in needs no row, and nobody can turn an id into a token. */
export const sealAskedCode = (keyring: Keyring, { id, until }: AskedCode): string =>
  Buffer.from(keyring.seal(Buffer.from(JSON.stringify([id, until.getTime()])), askedContext)).toString("base64url");

/** Opens such a token; undefined if we did not seal it. */
export function openAskedCode(keyring: Keyring, token: string): AskedCode | undefined {
  try {
    const content = keyring.open(Buffer.from(token, "base64url"), askedContext);
    const [id, until] = JSON.parse(Buffer.from(content).toString("utf8")) as [string, number];
    return { id, until: new Date(until) };
  } catch {
    return undefined;
  }
}

const undoPurpose = "undo code";

/** Makes a code that restores a former address: its text, and the HMAC for finding it. */
export function makeUndoCode(keyring: Keyring) {
  const code = newCode(undefined, passwordCodeLength);
  return { code, mac: codeMac(keyring, { purpose: undoPurpose, subject: "", code }) };
}

/** The HMACs of such a code under every master key. */
export const undoCodeMacs = (keyring: Keyring, code: string): readonly Buffer[] =>
  codeMacs(keyring, { purpose: undoPurpose, subject: "", code });

// An invitation outlives a master key, so its code is stored as a plain hash: with 115 random bits, nobody finds it by trying.
const joiningCodeLength = 24;

/** Makes the code with which somebody joins an organization, invited or not: its text, and the hash for finding it. */
export function makeJoiningCode() {
  const code = newCode(undefined, joiningCodeLength);
  return { code, hash: joiningCodeHash(code) };
}

/** The form in which such a code is stored and looked up. */
export const joiningCodeHash = (typed: string): Buffer => hashToken(normalizeCode(typed));

/** A user of an organization, and the code that verifies their address. */
export type EmailLink = { readonly owner: string; readonly userId: string; readonly code: string };

const linkContext = "link of an e-mail code";

/**
 * Seals a user and a code for the link in a mail. A six-character code only works together with its user, whom the link must not name, and
 * whose few attempts nobody without the mail may use up.
 */
export const sealEmailLink = (keyring: Keyring, { owner, userId, code }: EmailLink): string =>
  Buffer.from(keyring.seal(Buffer.from(JSON.stringify([owner, userId, code])), linkContext)).toString("base64url");

/** Opens the sealed part of a mail's link; undefined if we did not seal it. */
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

export function openMail(keyring: Keyring, { sealed, ...of }: MailOf & { sealed: Uint8Array }): MailCodes {
  return JSON.parse(Buffer.from(keyring.open(sealed, contextOf(of))).toString("utf8"));
}

const subjectOf = ({ id, userId, email }: EmailCodeOf) => `${purpose} ${id} ${userId} ${email}`;

const contextOf = ({ id, email }: MailOf) => `mail ${id} ${email}`;
