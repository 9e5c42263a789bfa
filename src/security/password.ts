import { randomBytes } from "node:crypto";
import argon2 from "argon2";
import { sameBytes } from "./compare.ts";
import { foreignHash, isFault } from "./foreign_hash.ts";
import { type HashCall, type HashQueueLimits, hashQueue } from "./hash_queue.ts";

export { HashQueueFull, retryWhileFull } from "./hash_queue.ts";

/** The cost of one hash: memory in KiB, passes over it, and lanes. */
export type HashCost = { memoryKib: number; iterations: number; parallelism: number };

/** Hashes and checks passwords inside a job of the queue. */
export type PasswordBench = {
  hash(password: string): Promise<string>;
  verify(stored: string, password: string): Promise<boolean>;
};

export type PasswordHasher = ReturnType<typeof passwordHasher>;

/** A stored password hash cannot be parsed, which is our fault and never a wrong password. */
export class StoredHashMalformed extends Error {
  constructor() {
    super("a stored password hash is of no form that this server can check");
    this.name = "StoredHashMalformed";
  }
}

const STORED = /^\$argon2id\$v=19\$m=\d{1,8},t=\d{1,4},p=\d{1,3}\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** Hashes and checks passwords with argon2id, a few at a time, and fails immediately if too many are waiting. */
export function passwordHasher({ concurrency, queue, ...cost }: HashQueueLimits & HashCost) {
  const { enqueue, load } = hashQueue({ concurrency, queue });
  const bench = passwordBench(cost);
  // Checking a made-up tag costs as much as checking a real one, and requires no hashing at start.
  const decoy = encode(cost, randomBytes(SALT_BYTES), randomBytes(TAG_BYTES));

  return {
    /** Hashes a password into an argon2id PHC string. */
    hash: (password: string, call?: HashCall) => enqueue(() => bench.hash(password), call),

    /** Whether the password matches the hash. */
    verify: (stored: string, password: string, call?: HashCall) => enqueue(() => bench.verify(stored, password), call),

    /** Does the work of `verify`, for a user who does not exist. */
    verifyDecoy: async (password: string, call?: HashCall): Promise<false> => {
      await enqueue(() => bench.verify(decoy, password), call);
      return false;
    },

    /** Runs several checks and hashes, and nothing else, as one job, so that a change in progress is not refused halfway. */
    inOnePlace: <T>(work: (bench: PasswordBench) => Promise<T>, call?: HashCall) => enqueue(() => work(bench), call),

    /** Whether the stored hash was created elsewhere, or with a cost other than the current one. */
    needsRehash: (stored: string) =>
      STORED.test(stored) ? argon2.needsRehash(stored, argonCost(cost)) : foreign(stored) !== undefined,

    /** The numbers of running and waiting hashes, and their limits. */
    load,
  };
}

/** Whether two passwords are equal after normalization. */
export function samePassword(a: string, b: string): boolean {
  return sameBytes(passwordBytes(a), passwordBytes(b));
}

function passwordBench(cost: HashCost): PasswordBench {
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const options = { ...argonCost(cost), salt, hashLength: TAG_BYTES, type: argon2.argon2id, raw: true } as const;
      return encode(cost, salt, await argon2.hash(passwordBytes(password), options));
    },
    // A hash created elsewhere is of the exact characters typed there.
    verify: async (stored, password) =>
      STORED.test(stored) ? argon2.verify(stored, passwordBytes(password)) : foreign(stored).verify(password),
  };
}

// NIST 800-63B-4, 3.1.1.2: the same characters typed on another keyboard must yield the same bytes.
function passwordBytes(password: string): Buffer {
  return Buffer.from(password.normalize("NFC"), "utf8");
}

function argonCost({ memoryKib, iterations, parallelism }: HashCost) {
  return { memoryCost: memoryKib, timeCost: iterations, parallelism };
}

// The package writes m,p,t; the reference implementation and other languages only accept m,t,p.
function encode({ memoryKib, iterations, parallelism }: HashCost, salt: Buffer, tag: Buffer): string {
  const cost = `m=${memoryKib},t=${iterations},p=${parallelism}`;
  return `$argon2id$v=19$${cost}$${unpadded(salt)}$${unpadded(tag)}`;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}

// The package returns false for an unknown algorithm, which would look like a wrong password.
function foreign(stored: string) {
  const hash = foreignHash(stored);
  if (isFault(hash)) throw new StoredHashMalformed();
  return hash;
}
