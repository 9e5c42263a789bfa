import { codeMac, codeMatches, newCode } from "./code.ts";
import type { Keyring } from "./seal.ts";

/** The identity of a phone code: its id, the user, and the number in E.164 form. */
export type PhoneCodeOf = { readonly id: string; readonly userId: string; readonly phone: string };

const purpose = "phone code";

/** Makes a code: its text, the HMAC for checking it, and its sealed form for sending. */
export function makePhoneCode(keyring: Keyring, of: PhoneCodeOf) {
  const code = newCode();
  return {
    code,
    mac: codeMac(keyring, { purpose, subject: subjectOf(of), code }),
    seal: () => keyring.seal(Buffer.from(code), subjectOf(of)),
  };
}

/** Compares a typed code with the original, in constant time. */
export function phoneCodeMatches(keyring: Keyring, { mac, ...of }: PhoneCodeOf & { mac: Uint8Array }, typed: string) {
  return codeMatches(keyring, mac, { purpose, subject: subjectOf(of), code: typed });
}

export function openPhoneCode(keyring: Keyring, { sealed, ...of }: PhoneCodeOf & { sealed: Uint8Array }): string {
  return Buffer.from(keyring.open(sealed, subjectOf(of))).toString("utf8");
}

const subjectOf = ({ id, userId, phone }: PhoneCodeOf) => `${purpose} ${id} ${userId} ${phone}`;
