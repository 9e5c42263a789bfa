import { hash, randomFillSync } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * The kind of a token by its prefix: a session, a personal access token, a client secret; for signing in at applications, the cookies of a
 * browser, of its session and of its being known to a user, an authorization code, a device code, an access token, a refresh token; an
 * access token of the console; a pushed authorization request.
 */
export type TokenPrefix = "ps" | "pt" | "cs" | "ob" | "os" | "ok" | "oc" | "od" | "oa" | "or" | "cn" | "oq";

const SECRET_BYTES = 20;
const SECRET_LENGTH = 27;
const CHECK_LENGTH = 6;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const OURS = /^(?:ps|pt|cs|oa|cn)_/;
const SHAPE = /^(?:ps|pt|cs|oa|cn)_[0-9A-Za-z]{33}$/;
const JWT = /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/;
const FOREIGN_LENGTH = 32;

/** Generates a token of 160 random bits: prefix, secret, and a checksum that detects typing errors. */
export function newToken(prefix: TokenPrefix, random: (bytes: number) => Uint8Array = drawnBytes): string {
  const secret = base62(BigInt(`0x${Buffer.from(random(SECRET_BYTES)).toString("hex")}`), SECRET_LENGTH);
  const body = `${prefix}_${secret}`;
  return body + checkSum(body);
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
function drawnBytes(bytes: number): Buffer {
  if (used + bytes > drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const taken = Buffer.from(drawn.subarray(used, used + bytes));
  drawn.fill(0, used, used + bytes);
  used += bytes;
  return taken;
}

const checkSum = (body: string): string => digitsOf(crc32(body), CHECK_LENGTH);

// Splits off as many digits at once as a number can hold, because numbers are faster.
const groupLength = 8;
const group = 62n ** BigInt(groupLength);

function base62(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest /= group) text = digitsOf(Number(rest % group), groupLength) + text;
  return text.slice(-length);
}

function digitsOf(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = DIGITS.charAt(rest % 62) + text;
  return text;
}
