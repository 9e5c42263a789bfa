import { codeMac, codeMatches, newCode } from "./code.ts";
import type { Keyring } from "./seal.ts";

/** What a code for a phone belongs to: its id, the user, and the number in E.164 form. */
export type PhoneCodeOf = { readonly id: string; readonly userId: string; readonly phone: string };

const purpose = "phone code";

/** Makes a code: as text to tell, as HMAC to check, and to be sealed when it is sent. */
export function makePhoneCode(keyring: Keyring, of: PhoneCodeOf) {
  const code = newCode();
  return {
    code,
    mac: codeMac(keyring, { purpose, subject: subjectOf(of), code }),
    seal: () => keyring.seal(Buffer.from(code), subjectOf(of)),
  };
}

/** Says in constant time whether a typed code is the one that was made. */
export function phoneCodeMatches(keyring: Keyring, { mac, ...of }: PhoneCodeOf & { mac: Uint8Array }, typed: string) {
  return codeMatches(keyring, mac, { purpose, subject: subjectOf(of), code: typed });
}

/** The code that was sealed to be sent. */
export function openPhoneCode(keyring: Keyring, { sealed, ...of }: PhoneCodeOf & { sealed: Uint8Array }): string {
  return Buffer.from(keyring.open(sealed, subjectOf(of))).toString("utf8");
}

const subjectOf = ({ id, userId, phone }: PhoneCodeOf) => `${purpose} ${id} ${userId} ${phone}`;
