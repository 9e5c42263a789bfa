import { expect, test } from "vitest";
import { everything, factCaches, type Happened } from "../../src/events/fact_cache.ts";

type Value = { readonly ids: readonly string[]; readonly ends?: number };

/** A cache whose clocks are set by hand. Facts end what depends on their stream; "all" ends everything. */
function opened({ most = 10 } = {}) {
  const time = { wall: 1_000, elapsed: 0 };
  const clock = () => new Date(time.wall);
  const { open, forget, forgetAll } = factCaches({ clock, elapsed: () => time.elapsed, seconds: 5 });
  const cache = open<Value>({
    endedBy: ({ type, stream }) => (type === "all" ? everything : type === "none" ? undefined : stream),
    idsOf: ({ ids }) => ids,
    endOf: ({ ends = Number.POSITIVE_INFINITY }) => ends,
    most,
  });
  const put = (key: string, value: Value = { ids: [key] }) => cache.look(key, async () => value);
  const has = (...keys: string[]) => keys.filter((key) => cache.cached(key) !== undefined);
  return {
    ...cache,
    time,
    forgetAll,
    put,
    has,
    tell: (stream: string, type = "one") => forget(fact({ type, stream })),
  };
}

const fact = (of: Partial<Happened>): Happened => ({ type: "one", owner: "acme", stream: "some", ...of });

test("a value is cached until a fact ends what it depends on, and others stay", async () => {
  const { put, has, tell } = opened();
  await put("a", { ids: ["robot", "acme"] });
  await put("b", { ids: ["drone", "acme"] });
  await put("c", { ids: ["drone", "other"] });
  tell("nobody");
  tell("robot", "none");
  expect(has("a", "b", "c")).toEqual(["a", "b", "c"]);
  tell("robot");
  expect(has("a", "b", "c")).toEqual(["b", "c"]);
  tell("acme");
  expect(has("a", "b", "c")).toEqual(["c"]);
  tell("some", "all");
  expect(has("a", "b", "c")).toEqual([]);
});

test("a value that ended while it was looked up is answered, and not cached", async () => {
  const ends: readonly [(cache: ReturnType<typeof opened>) => void, string[]][] = [
    [({ tell }) => tell("robot"), []],
    [({ tell }) => tell("some", "all"), []],
    [({ forgetAll }) => forgetAll(), []],
    [({ tell }) => tell("drone"), ["a"]],
    // More than can be kept apart.
    [({ tell }) => Array.from({ length: 20 }, (_, n) => tell(`other${n}`)), []],
  ];
  for (const [end, kept] of ends) {
    const cache = opened();
    const value = { ids: ["robot"] };
    const looked = cache.look("a", async () => {
      await Promise.resolve();
      end(cache);
      return value;
    });
    expect(await looked).toBe(value);
    expect(cache.has("a")).toEqual(kept);
    // A lookup that begins afterwards sees what there is now.
    await cache.put("a", value);
    expect(cache.has("a")).toEqual(["a"]);
  }
});

test("a value that ends while another lookup goes on is not kept by that one either", async () => {
  const { look, put, has, tell } = opened();
  let letGo = () => {};
  const slow = look("slow", async () => {
    await new Promise<void>((resolve) => {
      letGo = resolve;
    });
    return { ids: ["robot"] };
  });
  await put("quick", { ids: ["drone"] });
  tell("robot");
  await put("quicker", { ids: ["robot"] });
  letGo();
  await slow;
  expect(has("slow", "quick", "quicker")).toEqual(["quick", "quicker"]);
});

test("a value is cached for the seconds, and no longer than it may be", async () => {
  const { put, has, time } = opened();
  await put("a");
  await put("b", { ids: [], ends: 3_000 });
  await put("over", { ids: [], ends: 1_000 });
  expect(has("a", "b", "over")).toEqual(["a", "b"]);
  time.wall = 3_000;
  expect(has("a", "b")).toEqual(["a"]);
  time.wall = 0;
  time.elapsed = 4_999;
  expect(has("a")).toEqual(["a"]);
  time.elapsed = 5_000;
  expect(has("a")).toEqual([]);
});

test("there are never more values than may be, the oldest go first, and one that may not be cached takes no place", async () => {
  const { put, has } = opened({ most: 2 });
  await put("a");
  for (let n = 0; n < 5; n++) await put(`over${n}`, { ids: [], ends: 0 });
  await put("b");
  expect(has("a", "b")).toEqual(["a", "b"]);
  await put("a");
  await put("c");
  expect(has("a", "b", "c")).toEqual(["a", "c"]);
});

test("what nobody has found is not cached, and what is gone is cached no more", async () => {
  const { look, put, has } = opened();
  await put("a");
  expect(await look("a", async () => undefined)).toBeUndefined();
  expect(has("a")).toEqual([]);
  await expect(look("b", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  await put("b");
  expect(has("b")).toEqual(["b"]);
});
