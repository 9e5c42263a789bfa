import { exportJWK, generateKeyPair } from "jose";
import { expect, test } from "vitest";
import { clientKeys } from "../../../src/provider/request/client_keys.ts";

const uri = "https://app.example/keys";
const { publicKey } = await generateKeyPair("ES256");
const jwk = { ...(await exportJWK(publicKey)), kid: "k1" };
const text = JSON.stringify({ keys: [jwk] });

/** A reader of keys at a place that answers as it is told, and a clock that stands still. */
function reader() {
  const state = { now: 0, reads: 0, answer: async () => text };
  const keys = clientKeys(
    async () => {
      state.reads += 1;
      return state.answer();
    },
    () => state.now,
  );
  const kidsOf = async (kid: string, at = uri, owner = "organization") =>
    (await keys({ owner, keys: [{ jwk: null, jwksUri: at }] } as unknown as Parameters<typeof keys>[0], kid)).map(
      (key) => key.kid,
    );
  return { state, kidsOf };
}

const minute = 60_000;

test("however many ask at once for a key that is not there, its URI is read once in half a minute", async () => {
  const { state, kidsOf } = reader();
  const fifty = () => Promise.all(Array.from({ length: 50 }, (_, n) => kidsOf(`unknown ${n}`)));
  await fifty();
  expect(state.reads).toBe(1);
  state.now = 29_000;
  await fifty();
  expect(state.reads).toBe(1);
  state.now = 31_000;
  expect(new Set((await fifty()).flat())).toEqual(new Set(["k1"]));
  expect(state.reads).toBe(2);
});

test("keys that cannot be read again count for an hour, and no longer", async () => {
  const { state, kidsOf } = reader();
  expect(await kidsOf("k1")).toEqual(["k1"]);
  state.answer = async () => Promise.reject(new Error("away"));
  for (state.now = minute; state.now < 59 * minute; state.now += minute)
    expect(await kidsOf(state.now % (2 * minute) === 0 ? "k1" : "unknown")).toEqual(["k1"]);
  state.now = 66 * minute;
  expect(await kidsOf("k1")).toEqual([]);
  state.answer = async () => text;
  state.now += minute;
  expect(await kidsOf("k1")).toEqual(["k1"]);
});

test("keys that are there no more do not count, and neither does a text that is no key set", async () => {
  const { state, kidsOf } = reader();
  await kidsOf("k1");
  for (const answer of ['{"keys":[]}', "{}", "null", "[]", "7", '{"keys":{"0":1}}', "<html>"]) {
    state.now += 6 * minute;
    state.answer = async () => answer;
    expect([answer, await kidsOf("k1")]).toEqual([answer, []]);
  }
});

test("of more URIs than are kept, the one that was read longest ago is read again", async () => {
  const { state, kidsOf } = reader();
  for (let n = 0; n <= 1_000; n++) await kidsOf("k1", `${uri}/${n}`);
  expect(state.reads).toBe(1_001);
  await kidsOf("k1", `${uri}/1000`);
  await kidsOf("k1", `${uri}/1`);
  expect(state.reads).toBe(1_001);
  await kidsOf("k1", `${uri}/0`);
  expect(state.reads).toBe(1_002);
});

test("hosts of one organization that never answer leave places to others, and few are called at once", async () => {
  const { state, kidsOf } = reader();
  const silent = Promise.withResolvers<string>();
  state.answer = () => silent.promise;
  const theirs = Array.from({ length: 200 }, (_, n) => kidsOf("k1", `${uri}/${n}`, "busy"));
  await new Promise(setImmediate);
  expect(state.reads).toBeLessThan(32);
  state.answer = async () => text;
  const before = state.reads;
  expect(await kidsOf("k1", `${uri}/ours`, "neighbour")).toEqual(["k1"]);
  expect(state.reads).toBe(before + 1);
  silent.resolve(text);
  expect(new Set((await Promise.all(theirs)).flat())).toEqual(new Set(["k1"]));
});
