import { describe, expect, test } from "vitest";
import { foreignHash, isFault } from "../../src/security/foreign_hash.ts";
import { passwordHasher } from "../../src/security/password.ts";

// Made by the reference implementation of argon2, by libxcrypt, and by OpenSSL.
const made: readonly [name: string, hash: string][] = [
  ["bcrypt of libxcrypt", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.aDV7CQarKHMuNfh2oJkFzsHZya4whFe"],
  ["bcrypt with the letter of PHP", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.aDV7CQarKHMuNfh2oJkFzsHZya4whFe"],
  ["scrypt in PHC form", "$scrypt$ln=10,r=8,p=1$yMnKy8zNzs/Q0dLT1NXW1w$HjmHLpzO2lWmxHz9zglnupAV+NyT7uBAjLhh2f7EyRQ"],
  [
    "PBKDF2 in PHC form",
    "$pbkdf2-sha256$i=1000,l=32$yMnKy8zNzs/Q0dLT1NXW1w$kLtBogW4eLlXuMmJLo2X0vnwlXzAfkUerdCnyyrFaVc",
  ],
  [
    "PBKDF2 in modular form",
    "$pbkdf2-sha512$1000$yMnKy8zNzs/Q0dLT1NXW1w$Nrhfv.Ow4hyxmAhUHGZgt0yU/IOU5BSUaf/74L3rktTcEPGk3lPJLM3zeUt4zv3Jh9d2O6m8uoStmW/19F8GvA",
  ],
  [
    "PBKDF2 with the digest that goes without saying",
    "$pbkdf2$1000$yMnKy8zNzs/Q0dLT1NXW1w$nh.Tuw8Hg.LYR4ISG5OENh517m0",
  ],
  [
    "argon2i of the reference implementation",
    "$argon2i$v=19$m=64,t=2,p=1$c29tZXNhbHQ$mJ2mVFjovhRArlVdCzyKw6ZYTg0ikLncyRWminHkHB4",
  ],
  [
    "argon2d of the reference implementation",
    "$argon2d$v=19$m=64,t=2,p=1$c29tZXNhbHQ$+SDZVThkhGWr7rpq4G6lMu0m3zFK/2AVAjfY/hFvYs0",
  ],
  [
    "argon2id of another cost",
    "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
  ],
];

const hasher = () => passwordHasher({ concurrency: 1, queue: 8, memoryKib: 64, iterations: 1, parallelism: 1 });

describe.each(made)("%s", (_, hash) => {
  test("the right password is known, another is not, and it asks to be made again", async () => {
    const { verify, needsRehash } = hasher();
    expect(isFault(foreignHash(hash))).toBe(false);
    expect(await verify(hash, "password")).toBe(true);
    expect(await verify(hash, "passwort")).toBe(false);
    expect(needsRehash(hash)).toBe(true);
  });
});

const salt = "c29tZXNhbHQ";
const tag = "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

test.each([
  [`$argon2id$v=19$m=65537,t=2,p=1$${salt}$${tag}`, { parameter: "m", value: 65_537, most: 65_536 }],
  [`$argon2id$v=19$m=65536,t=11,p=1$${salt}$${tag}`, { parameter: "t", value: 11, most: 10 }],
  [`$argon2id$v=19$m=65536,t=2,p=17$${salt}$${tag}`, { parameter: "p", value: 17, most: 16 }],
  [`$2b$14$${"C".repeat(53)}`, { parameter: "cost", value: 14, most: 13 }],
  [`$scrypt$ln=17,r=8,p=1$${salt}$${tag}`, { parameter: "128*2^ln*r*p", value: 1 << 27, most: 1 << 26 }],
  [`$scrypt$ln=99,r=8,p=1$${salt}$${tag}`, { parameter: "128*2^ln*r*p", value: 1024 * 2 ** 99, most: 1 << 26 }],
  [`$pbkdf2-sha256$1500001$${salt}$${tag}`, { parameter: "i", value: 1_500_001, most: 1_500_000 }],
  [`$pbkdf2-sha256$i=750001$${salt}$${tag}${tag}`, { parameter: "i", value: 750_001, most: 750_000 }],
])("%s costs too much, and the refusal names the bound", (hash, params) => {
  expect(foreignHash(hash)).toEqual({ reason: "PASSWORD_HASH_TOO_COSTLY", params });
});

test.each([
  `$argon2id$v=19$m=64,t=2,p=1$c29t$${tag}`,
  `$argon2id$v=19$m=64,t=2,p=1$${salt}$CTFh`,
  `$scrypt$ln=4,r=8,p=1$${salt}$A`,
  `$pbkdf2-sha256$1$A$${tag}`,
  `$pbkdf2-sha256$1$${salt}$.`,
  `$pbkdf2-sha256$1$${salt}$${tag.repeat(4)}`,
])("%s has a salt or a hash that is shorter or longer than it may be", (hash) => {
  expect(foreignHash(hash)).toMatchObject({ reason: "PASSWORD_HASH_LENGTH" });
});

test.each([
  ...["", "password", "$", "$2x$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy", "$2b$03$", "$1$abc$def"],
  ...[`$2b$03$${"C".repeat(53)}`, `$argon2id$v=18$m=64,t=2,p=1$${salt}$${tag}`, `$argon2id$m=7,t=1,p=1$${salt}$${tag}`],
  ...[
    `$argon2id$v=19$m=64,t=0,p=1$${salt}$${tag}`,
    `$scrypt$ln=0,r=8,p=1$${salt}$${tag}`,
    `$scrypt$ln=16,r=1,p=1$${salt}$${tag}`,
  ],
  ...[
    `$pbkdf2-sha256$0$${salt}$${tag}`,
    `$pbkdf2-md5$1$${salt}$${tag}`,
    `$argon2id$v=19$m=64,t=2,p=1$${salt}$${tag}\n`,
  ],
])("%j is no hash", (hash) => {
  expect(foreignHash(hash)).toEqual({ reason: "PASSWORD_HASH_MALFORMED" });
});

test("whatever is taken can be checked: none of a thousand hashes with other parameters throws", async () => {
  const digits = (most: number) => Math.floor(Math.random() * (most + 1));
  const forms = [
    () =>
      `$argon2${["id", "i", "d"][digits(2)]}${["$v=19", "$v=16", ""][digits(2)]}$m=${digits(200)},t=${digits(3)},p=${digits(9)}`,
    () => `$scrypt$ln=${digits(8)},r=${digits(9)},p=${digits(9)}`,
    () => `$pbkdf2${["", "-sha1", "-sha256", "-sha512"][digits(3)]}$${["", "i="][digits(1)]}${digits(50)}`,
  ];
  let taken = 0;
  for (let n = 0; n < 1000; n++) {
    const [one, other] = [digits(70), digits(70)].map((length) => Buffer.alloc(length, n).toString("base64"));
    const hash = foreignHash(`${forms[n % 3]?.()}$${one?.replace(/=+$/, "")}$${other?.replace(/=+$/, "")}`);
    if (isFault(hash)) continue;
    taken += 1;
    expect(await hash.verify("password")).toBe(false);
  }
  expect(taken).toBeGreaterThan(100);
});
