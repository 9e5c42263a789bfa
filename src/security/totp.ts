import { createHmac, randomBytes } from "node:crypto";

/** The account that an authenticator app shows beside its codes. */
export type TotpAccount = { readonly issuer: string; readonly name: string };

const secretBytes = 20;
const stepSeconds = 30;
const digits = 6;
const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Makes a secret of 160 random bits, the length that RFC 4226, 4 recommends. */
export const newTotpSecret = (): Buffer => randomBytes(secretBytes);

/** Computes the code of a step: the HOTP of RFC 4226, 5.3 with SHA-1, the one algorithm that every app knows. */
export function totpCode(secret: Uint8Array, step: number, length = digits): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", secret).update(counter).digest();
  const value = mac.readUInt32BE((mac[mac.length - 1] ?? 0) & 15) & 0x7fffffff;
  return String(value % 10 ** length).padStart(length, "0");
}

/** The step that a time falls into. */
export const totpStep = (time: Date): number => Math.floor(time.getTime() / 1000 / stepSeconds);

/**
 * Finds the step of a typed code: the present one, the one before or the one after, as clocks differ (RFC 6238, 5.2). Steps that
 * are not later than the last one used are passed over, as a code counts once; undefined when none of the others fits.
 */
export function stepOfCode(secret: Uint8Array, typed: string, { now, last }: { now: Date; last: number }) {
  const code = typed.normalize("NFKC").replace(/\s/g, "");
  const step = totpStep(now);
  return [step, step - 1, step + 1].find((one) => one > last && totpCode(secret, one) === code);
}

/** Writes a secret in Base32 (RFC 4648, 6), without padding. */
export function base32Of(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => base32.charAt(Number.parseInt(five.padEnd(5, "0"), 2))).join("");
}

/** Reads a secret in Base32, in whatever case, with or without padding. */
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
