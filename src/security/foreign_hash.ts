import { pbkdf2, scrypt } from "node:crypto";
import { promisify } from "node:util";
import argon2 from "argon2";
import bcrypt from "bcrypt";
import { sameBytes } from "./compare.ts";

/** A password hash created elsewhere, ready for checking. */
export type ForeignHash = { readonly verify: (password: string) => Promise<boolean> };

/** The reason why a hash from elsewhere is not accepted, by the name of its text, with the limit that it exceeds. */
export type HashFault =
  | { readonly reason: "PASSWORD_HASH_MALFORMED" }
  | { readonly reason: "PASSWORD_HASH_LENGTH"; readonly params: typeof lengths }
  | {
      readonly reason: "PASSWORD_HASH_TOO_COSTLY";
      readonly params: { readonly parameter: string; readonly value: number; readonly most: number };
    };

/** Cost limits: a check takes at most about half a second and 64 MiB, whatever the hash asks for. */
const most = { m: 65_536, t: 10, p: 16, bcrypt: 13, scryptBytes: 64 << 20, pbkdf2Rounds: 1_500_000 } as const;

const lengths = { minSalt: 8, maxSalt: 64, minHash: 16, maxHash: 64 } as const;

/** Parses a hash in PHC or modular format, and refuses one that costs too much, based on its text alone. */
export function foreignHash(text: string): ForeignHash | HashFault {
  for (const parse of [argon2Hash, bcryptHash, scryptHash, pbkdf2Hash]) {
    const found = parse(text);
    if (found) return found;
  }
  return malformed;
}

export const isFault = (hash: ForeignHash | HashFault): hash is HashFault => "reason" in hash;

const malformed = { reason: "PASSWORD_HASH_MALFORMED" } as const;
const wrongLength = { reason: "PASSWORD_HASH_LENGTH", params: lengths } as const;

type Parsed = ForeignHash | HashFault | undefined;

// RFC 9106, with the parameters in the reference implementation's order. The default version is 16.
const argon2Form =
  /^\$argon2(?:id|i|d)(?:\$v=(?:16|19))?\$m=(?<m>\d{1,8}),t=(?<t>\d{1,4}),p=(?<p>\d{1,3})\$(?<salt>[A-Za-z0-9+/]+)\$(?<tag>[A-Za-z0-9+/]+)$/;

function argon2Hash(text: string): Parsed {
  const groups = argon2Form.exec(text)?.groups;
  if (!groups) return undefined;
  const [m, t, p] = [Number(groups.m), Number(groups.t), Number(groups.p)];
  const costly = above("m", m, most.m) ?? above("t", t, most.t) ?? above("p", p, most.p);
  if (costly) return costly;
  if (t < 1 || p < 1 || m < 8 * p) return malformed;
  if (!bytesOf(groups)) return wrongLength;
  return { verify: (password) => argon2.verify(text, Buffer.from(password, "utf8")) };
}

// The letters a, b and y name the same function; x is that of a broken implementation.
const bcryptForm = /^\$2[aby]\$(?<cost>\d\d)\$[./A-Za-z0-9]{53}$/;

function bcryptHash(text: string): Parsed {
  const groups = bcryptForm.exec(text)?.groups;
  if (!groups) return undefined;
  const cost = Number(groups.cost);
  if (cost < 4) return malformed;
  const stored = `$2b${text.slice(3)}`;
  return above("cost", cost, most.bcrypt) ?? { verify: (password) => bcrypt.compare(password, stored) };
}

const scryptForm =
  /^\$scrypt\$ln=(?<ln>\d{1,2}),r=(?<r>\d{1,3}),p=(?<p>\d{1,3})\$(?<salt>[A-Za-z0-9+/]+)\$(?<tag>[A-Za-z0-9+/]+)$/;

function scryptHash(text: string): Parsed {
  const groups = scryptForm.exec(text)?.groups;
  if (!groups) return undefined;
  const [ln, r, p] = [Number(groups.ln), Number(groups.r), Number(groups.p)];
  // RFC 7914, 6: N is less than 2^(128 * r / 8).
  if (ln < 1 || r < 1 || p < 1 || ln >= 16 * r) return malformed;
  const bytes = 128 * 2 ** ln * r * p;
  const costly = above("128*2^ln*r*p", bytes, most.scryptBytes);
  if (costly) return costly;
  const known = bytesOf(groups);
  if (!known) return wrongLength;
  const cost = { N: 2 ** ln, r, p, maxmem: bytes + (1 << 20) };
  const derive = (password: string) =>
    new Promise<Buffer>((resolve, reject) =>
      scrypt(password, known.salt, known.tag.length, cost, (error, tag) => (error ? reject(error) : resolve(tag))),
    );
  return { verify: async (password) => sameBytes(await derive(password), known.tag) };
}

// Both notations for the rounds, and both alphabets; sha1 is written without its name.
const pbkdf2Form =
  /^\$pbkdf2(?:-(?<digest>sha1|sha256|sha512))?\$(?:i=)?(?<i>\d{1,9})(?:,l=\d{1,3})?\$(?<salt>[A-Za-z0-9+/.]+)\$(?<tag>[A-Za-z0-9+/.]+)$/;

const digestBytes = { sha1: 20, sha256: 32, sha512: 64 } as const;
const derivePbkdf2 = promisify(pbkdf2);

function pbkdf2Hash(text: string): Parsed {
  const groups = pbkdf2Form.exec(text)?.groups;
  if (!groups) return undefined;
  const digest = (groups.digest ?? "sha1") as keyof typeof digestBytes;
  const rounds = Number(groups.i);
  const known = bytesOf(groups);
  if (!known) return wrongLength;
  if (rounds < 1) return malformed;
  // Each further block of output costs all rounds again.
  const blocks = Math.ceil(known.tag.length / digestBytes[digest]);
  const derive = (password: string) => derivePbkdf2(password, known.salt, rounds, known.tag.length, digest);
  return (
    above("i", rounds, Math.floor(most.pbkdf2Rounds / blocks)) ?? {
      verify: async (password) => sameBytes(await derive(password), known.tag),
    }
  );
}

function above(parameter: string, value: number, limit: number): HashFault | undefined {
  return value > limit ? { reason: "PASSWORD_HASH_TOO_COSTLY", params: { parameter, value, most: limit } } : undefined;
}

/** Decodes salt and tag; undefined if either is too short or too long. */
function bytesOf({ salt = "", tag = "" }: Readonly<Record<string, string>>) {
  const [saltBytes, tagBytes] = [decoded(salt), decoded(tag)];
  const { minSalt, maxSalt, minHash, maxHash } = lengths;
  if (saltBytes.length < minSalt || saltBytes.length > maxSalt) return undefined;
  if (tagBytes.length < minHash || tagBytes.length > maxHash) return undefined;
  return { salt: saltBytes, tag: tagBytes };
}

// Passlib writes a dot for the plus sign.
const decoded = (text: string): Buffer => Buffer.from(text.replaceAll(".", "+"), "base64");
