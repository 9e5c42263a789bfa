import { createHmac, randomBytes } from "node:crypto";

/** The account that an authenticator app shows with its codes. */
export type TotpAccount = { readonly issuer: string; readonly name: string };

const secretBytes = 20;
const stepSeconds = 30;
const digits = 6;
const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Generates a secret of 160 random bits, the length that RFC 4226, 4 recommends. */
export const newTotpSecret = (): Buffer => randomBytes(secretBytes);

/** Computes the code of a time step: RFC 4226's HOTP (5.3) with SHA-1, the only algorithm that every app supports. */
export function totpCode(secret: Uint8Array, step: number, length = digits): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", secret).update(counter).digest();
  const value = mac.readUInt32BE((mac[mac.length - 1] ?? 0) & 15) & 0x7fffffff;
  return String(value % 10 ** length).padStart(length, "0");
}

/** The time step that contains a time. */
export const totpStep = (time: Date): number => Math.floor(time.getTime() / 1000 / stepSeconds);

/**
 * Finds the time step of a typed code: the current one, or a neighbouring one because clocks differ (RFC 6238, 5.2). A code counts only
 * once, so steps up to the last one used are skipped. Undefined if no step matches.
 */
export function stepOfCode(secret: Uint8Array, typed: string, { now, last }: { now: Date; last: number }) {
  const code = typed.normalize("NFKC").replace(/\s/g, "");
  const step = totpStep(now);
  return [step, step - 1, step + 1].find((one) => one > last && totpCode(secret, one) === code);
}

/** Encodes a secret in Base32 (RFC 4648, 6), without padding. */
export function base32Of(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => base32.charAt(Number.parseInt(five.padEnd(5, "0"), 2))).join("");
}

/** Decodes a secret in Base32, in any case, with or without padding. */
export function base32Bytes(text: string): Buffer {
  const bits = [...text.toUpperCase().replace(/=+$/, "")]
    .map((letter) => base32.indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}

/** Composes the URI that apps read from a QR code. */
export function totpUri(secret: Uint8Array, { issuer, name }: TotpAccount): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(name)}`;
  return `otpauth://totp/${label}?secret=${base32Of(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
