import { hash, randomFillSync } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * The kind of a token by its prefix: a session, a personal access token, a client secret; for signing in at applications, the cookies of a
 * browser, of its session and of its being known to a user, an authorization code, a device code, an access token, a refresh token; an
 * access token of the console; a pushed authorization request.
 */
export type TokenPrefix = "ps" | "pt" | "cs" | "ob" | "os" | "ok" | "oc" | "od" | "oa" | "or" | "cn" | "oq";

const SECRET_LENGTH = 27;
const CHECK_LENGTH = 6;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const OURS = /^(?:ps|pt|cs|oa|cn)_/;
const SHAPE = /^(?:ps|pt|cs|oa|cn)_[0-9A-Za-z]{33}$/;
const JWT = /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/;
const FOREIGN_LENGTH = 32;

/** Generates a token of 160 random bits: prefix, secret, and a checksum that detects typing errors. */
export function newToken(prefix: TokenPrefix, randomByte: () => number = drawnByte): string {
  const body = `${prefix}_${secretOf(randomByte)}`;
  return body + checkSum(body);
}

// Six bits choose a digit. There is none for 62 and 63, so every digit is as likely as any other.
function secretOf(randomByte: () => number): string {
  let secret = "";
  while (secret.length < SECRET_LENGTH) secret += DIGITS.charAt(randomByte() % 64);
  return secret;
}

/** Whether a token is well formed: with one of our prefixes, the checksum must match; any other token needs 32 characters. */
export function isWellFormed(token: string): boolean {
  if (!OURS.test(token)) return token.length >= FOREIGN_LENGTH;
  return SHAPE.test(token) && token.endsWith(checkSum(token.slice(0, -CHECK_LENGTH)));
}

/** Whether a token looks like a JWT, which none of our bearer tokens does. */
export const isJwt = (token: string): boolean => JWT.test(token);

/** The form in which a token is stored and looked up: its SHA-256 hash. */
export function hashToken(token: string): Buffer {
  // A buffer of `hash`'s own takes twice as long.
  return Buffer.from(hash("sha256", token, "hex"), "hex");
}

const drawn = Buffer.alloc(4096);
let used = drawn.length;

// Random bytes are fetched for many tokens at once, which takes as long as for one. None stays here once it is used.
function drawnByte(): number {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const byte = drawn.readUInt8(used);
  drawn[used] = 0;
  used++;
  return byte;
}

function checkSum(body: string): string {
  let text = "";
  for (let rest = crc32(body); text.length < CHECK_LENGTH; rest = Math.floor(rest / 62))
    text = DIGITS.charAt(rest % 62) + text;
  return text;
}
