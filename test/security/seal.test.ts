import { expect, test } from "vitest";
import { keyring, SealBroken } from "../../src/security/seal.ts";

const one = Buffer.alloc(32, 1);
const two = Buffer.alloc(32, 2);
const text = Buffer.from("the code is 7F3K9Q");

test("what is sealed opens again in its context, and looks different each time", () => {
  const keys = keyring([one]);
  const sealed = keys.seal(text, "code of ada");
  expect(Buffer.from(keys.open(sealed, "code of ada"))).toEqual(text);
  expect(keys.seal(text, "code of ada")).not.toEqual(sealed);
  expect(Buffer.from(sealed).includes(text)).toBe(false);
  expect(keys.open(keys.seal(Buffer.alloc(0), "x"), "x")).toHaveLength(0);
});

test("in another context nothing opens", () => {
  const keys = keyring([one]);
  expect(() => keys.open(keys.seal(text, "code of ada"), "code of bob")).toThrow(SealBroken);
});

test("every changed byte and every missing one is noticed", () => {
  const keys = keyring([one]);
  const sealed = keys.seal(text, "x");
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => keys.open(changed, "x"), `byte ${at}`).toThrow(SealBroken);
    expect(() => keys.open(sealed.subarray(0, at), "x"), `first ${at}`).toThrow(SealBroken);
  }
});

test("after a rotation the old opens under the second key and the new under the first", () => {
  const before = keyring([one]);
  const after = keyring([two, one]);
  expect(Buffer.from(after.open(before.seal(text, "x"), "x"))).toEqual(text);
  expect(() => before.open(after.seal(text, "x"), "x")).toThrow("none of the master keys");
});

test("a signature depends on key, purpose and data", () => {
  const keys = keyring([one]);
  const mac = keys.mac("code", "data");
  expect(mac).toHaveLength(32);
  expect(keyring([one]).mac("code", "data")).toEqual(mac);
  expect(keys.mac("request", "data")).not.toEqual(mac);
  expect(keys.mac("code", "date")).not.toEqual(mac);
  expect(keyring([two]).mac("code", "data")).not.toEqual(mac);
});

test("signatures under every key come with the current one first", () => {
  const both = keyring([two, one]).macs("code", "data");
  expect(both).toEqual([keyring([two]).mac("code", "data"), keyring([one]).mac("code", "data")]);
});

test("the check value stops a node with another key and lets a rotated one pass", () => {
  const stored = keyring([one]).checkValue();
  expect(keyring([one]).holds(stored)).toBe(true);
  expect(keyring([two, one]).holds(stored)).toBe(true);
  expect(keyring([two]).holds(stored)).toBe(false);
  expect(keyring([one]).holds(Buffer.alloc(0))).toBe(false);
});

test("the stored forms stay as they are: a database outlives this version", () => {
  const sealed = "ATFD29nxm4deGwZr0XxQPtRI73sXOK38JlpV8/0zAjSs0gfEz13nSaxeYD+I/SNpZeWI";
  expect(Buffer.from(keyring([one]).open(Buffer.from(sealed, "base64"), "golden")).toString()).toBe("golden");
  expect(keyring([one]).checkValue().toString("base64")).toBe("gv6G0gqkwGs7hLSPSdMJvE1Tc8vb6EpPjHUsPIIhxzE=");
});

test("a keyring needs keys of the right length, each once", () => {
  expect(() => keyring([])).toThrow("at least one key");
  expect(() => keyring([Buffer.alloc(16)])).toThrow("32 bytes");
  expect(() => keyring([one, one])).toThrow("twice");
});
