import { expect, test } from "vitest";
import { HashQueueFull, passwordHasher, StoredHashMalformed, samePassword } from "../../src/security/password.ts";

const cheap = { concurrency: 2, queue: 8, memoryKib: 64, iterations: 2, parallelism: 1 };

test("a password is known again, and another is not", async () => {
  const { hash, verify } = passwordHasher(cheap);
  const stored = await hash("Blue-Kettle-42");
  expect(await verify(stored, "Blue-Kettle-42")).toBe(true);
  expect(await verify(stored, "Blue-Kettle-43")).toBe(false);
});

test("the stored form is the PHC string that other languages read, with a salt of its own each time", async () => {
  const { hash } = passwordHasher({ ...cheap, parallelism: 2 });
  const stored = await hash("x");
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=64,t=2,p=2\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(await hash("x")).not.toBe(stored);
});

test("a hash that the reference implementation made is read", async () => {
  const made = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
  expect(await passwordHasher(cheap).verify(made, "password")).toBe(true);
});

test("the whole password counts: long, with NUL inside, and beyond 72 bytes", async () => {
  const { hash, verify } = passwordHasher(cheap);
  const long = "a".repeat(999);
  expect(await verify(await hash(`${long}1`), `${long}2`)).toBe(false);
  expect(await verify(await hash("abc\0def"), "abc\0xyz")).toBe(false);
});

test("a letter typed as one character or as two is the same letter", async () => {
  const { hash, verify } = passwordHasher(cheap);
  expect(await verify(await hash("caf\u00e9"), "cafe\u0301")).toBe(true);
  expect(samePassword("caf\u00e9", "cafe\u0301")).toBe(true);
  expect(samePassword("cafe", "caf\u00e9")).toBe(false);
});

test("a malformed stored hash is an error, never a wrong password", async () => {
  const { hash, verify, needsRehash } = passwordHasher(cheap);
  const stored = await hash("x");
  const damaged = [
    "",
    "x",
    "$2b$10$abcdefghijklmnopqrstuv",
    stored.replace("argon2id", "argon2x"),
    stored.slice(0, -30),
  ];
  for (const each of damaged) {
    await expect(verify(each, "x")).rejects.toThrow(StoredHashMalformed);
    expect(() => needsRehash(each)).toThrow(StoredHashMalformed);
  }
});

test("a hash made at another cost asks to be made again", async () => {
  const stored = await passwordHasher(cheap).hash("x");
  expect(passwordHasher(cheap).needsRehash(stored)).toBe(false);
  expect(passwordHasher({ ...cheap, iterations: 3 }).needsRehash(stored)).toBe(true);
  expect(passwordHasher({ ...cheap, memoryKib: 128 }).needsRehash(stored)).toBe(true);
  expect(passwordHasher({ ...cheap, parallelism: 2 }).needsRehash(stored)).toBe(true);
});

test("the decoy costs what a true check costs, and is always false", async () => {
  const { hash, verify, verifyDecoy } = passwordHasher({ ...cheap, memoryKib: 4096 });
  const stored = await hash("x");
  // The time of the processor, of all threads: the time on the clock also counts what else the machine does.
  const fastest = async (work: () => Promise<boolean>) => {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const since = process.cpuUsage();
      expect(await work()).toBe(false);
      const { user, system } = process.cpuUsage(since);
      times.push(user + system);
    }
    return Math.min(...times);
  };
  const ratio = (await fastest(() => verifyDecoy("y"))) / (await fastest(() => verify(stored, "y")));
  expect(ratio).toBeGreaterThan(0.4);
  expect(ratio).toBeLessThan(2.5);
});

test("several steps together take one place, however full the queue", async () => {
  const { inOnePlace, hash, load } = passwordHasher({ ...cheap, concurrency: 1, queue: 0 });
  const change = inOnePlace(async (bench) => {
    const stored = await bench.hash("old");
    expect(load()).toMatchObject({ running: 1, waiting: 0 });
    return [await bench.verify(stored, "old"), await bench.verify(stored, "new")];
  });
  await expect(hash("other")).rejects.toThrow(HashQueueFull);
  expect(await change).toEqual([true, false]);
});
