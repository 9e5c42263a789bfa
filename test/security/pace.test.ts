import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type WorkedFor, workFor } from "../../src/security/current_share.ts";
import { pace, Traffic } from "../../src/security/pace.ts";
import { unknownCallers } from "../../src/security/turns.ts";
import { namedWork } from "../fixture/named_work.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Heavy work, named after its group, that lasts until it is ended. Members of these groups have just called. */
function openPace(...groups: readonly string[]) {
  const takeTurn = pace();
  const traffic = new Traffic();
  for (const group of groups) traffic.note(group);
  const heavy = namedWork();
  const start = (name: string, { signal, member = "caller" }: { signal?: AbortSignal; member?: string } = {}) => {
    const whom: WorkedFor = {
      shares: [[name.slice(0, 1), member]],
      get isShared() {
        return traffic.isShared;
      },
    };
    return workFor(whom, async () => {
      using turn = await takeTurn({ signal });
      turn.begin();
      return await heavy.of(name)();
    });
  };
  const pass = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    await heavy.settled();
  };
  return { ...heavy, traffic, start, pass };
}

test("heavy work of a group that calls alone begins at once, whatever unknown callers do", async () => {
  const { begun, start, finish, settled } = openPace("a", unknownCallers, "a", unknownCallers);
  const all = [start("a1"), start("a2")];
  await settled();
  expect(begun).toEqual(["a1", "a2"]);
  await finish("a1");
  all.push(start("a3"));
  await settled();
  expect(begun).toEqual(["a1", "a2", "a3"]);
  for (const name of ["a2", "a3"]) await finish(name);
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3"]);
});

test("while others call, heavy work is done one after the other, with rests of three times its length", async () => {
  const { begun, start, finish, pass, settled } = openPace("a", "b");
  const all = [start("a1"), start("a2"), start("b1")];
  await settled();
  expect(begun).toEqual(["a1", "b1"]);
  await pass(100);
  await finish("a1");
  await pass(299);
  expect(begun).toEqual(["a1", "b1"]);
  await pass(1);
  expect(begun).toEqual(["a1", "b1", "a2"]);
  for (const name of ["a2", "b1"]) await finish(name);
  expect(await Promise.all(all)).toEqual(["a1", "a2", "b1"]);
});

test("a rest takes three seconds at most, and there is none once the others are silent", async () => {
  const { traffic, begun, start, finish, pass, settled } = openPace("a", "b");
  const all = [start("a1"), start("a2"), start("a3")];
  await settled();
  await pass(4_000);
  for (const group of ["a", "b"]) traffic.note(group);
  await finish("a1");
  await pass(2_999);
  expect(begun).toEqual(["a1"]);
  await pass(1);
  expect(begun).toEqual(["a1", "a2"]);
  await finish("a2");
  expect(begun).toEqual(["a1", "a2", "a3"]);
  all.push(start("a4"));
  await settled();
  expect(begun).toEqual(["a1", "a2", "a3", "a4"]);
  for (const name of ["a3", "a4"]) await finish(name);
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "a4"]);
});

test("work that waits for something else in its turn is followed by a rest for the work alone", async () => {
  const whom: WorkedFor = { shares: [["a", "caller"]], isShared: true };
  const takeTurn = pace();
  const turn = await workFor(whom, () => takeTurn());
  const next = vi.fn();
  const following = workFor(whom, () => takeTurn()).then(next);
  vi.advanceTimersByTime(5_000);
  turn.begin();
  vi.advanceTimersByTime(20);
  turn[Symbol.dispose]();
  vi.advanceTimersByTime(59);
  await new Promise((resolve) => setImmediate(resolve));
  expect(next).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  await following;
  expect(next).toHaveBeenCalledOnce();
});

test("a turn in which nothing began is followed by no rest", async () => {
  const whom: WorkedFor = { shares: [["a", "caller"]], isShared: true };
  const takeTurn = pace();
  const turn = await workFor(whom, () => takeTurn());
  const next = workFor(whom, () => takeTurn());
  vi.advanceTimersByTime(5_000);
  turn[Symbol.dispose]();
  expect([turn.isOver, (await next).isOver]).toEqual([true, false]);
});

test("a caller's streams, however many, have every second turn beside the caller's other work", async () => {
  const whom: WorkedFor = { shares: [["a", "caller"]], isShared: true };
  const takeTurn = pace();
  const begun: string[] = [];
  const work = (name: string, member?: string) =>
    workFor(whom, async () => {
      using turn = await takeTurn(member === undefined ? {} : { member });
      turn.begin();
      begun.push(name);
    });
  const streams = [1, 2, 3].map((n) => work(`stream ${n}`, "streams"));
  const calls = [1, 2].map((n) => work(`call ${n}`));
  for (let n = 0; n < 5; n++) {
    await new Promise((resolve) => setImmediate(resolve));
    vi.runAllTimers();
  }
  await Promise.all([...streams, ...calls]);
  expect(begun).toEqual(["stream 1", "stream 2", "call 1", "stream 3", "call 2"]);
});

test("a turn that somebody holds up ends by itself, and is followed by a rest as well", async () => {
  const whom: WorkedFor = { shares: [["a", "caller"]], isShared: true };
  const takeTurn = pace();
  const begun: string[] = [];
  const take = (name: string) =>
    workFor(whom, async () => {
      const turn = await takeTurn({ longestMs: 100 });
      turn.begin();
      begun.push(name);
      return turn;
    });
  const pass = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const [first, second, third] = [take("first"), take("second"), take("third")];
  await pass(0);
  await pass(100);
  await pass(299);
  expect(begun).toEqual(["first"]);
  await pass(1);
  expect(begun).toEqual(["first", "second"]);
  // Whoever was late ends no turn but their own.
  (await first)[Symbol.dispose]();
  await pass(50);
  (await second)[Symbol.dispose]();
  await pass(149);
  expect(begun).toEqual(["first", "second"]);
  await pass(1);
  expect(begun).toEqual(["first", "second", "third"]);
  (await third)[Symbol.dispose]();
});

test("members of a group take turns", async () => {
  const { begun, start, finish, pass, settled } = openPace("a", "b");
  const all = [start("a1"), start("a2"), start("a3"), start("a4", { member: "another" })];
  await settled();
  for (const name of ["a1", "a2", "a4", "a3"]) {
    expect(begun.at(-1)).toBe(name);
    await pass(10);
    await finish(name);
    await pass(30);
  }
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "a4"]);
});

test("work whose caller leaves before its turn is refused at once and never begins, and nobody overtakes for it", async () => {
  const { begun, start, finish, pass } = openPace("a", "b");
  const leaving = new AbortController();
  const first = start("a1");
  const left = start("a2", { signal: leaving.signal }).catch((error: unknown) => error);
  const next = start("a3");
  await pass(100);
  leaving.abort(new Error("gone"));
  expect([await left, begun]).toEqual([new Error("gone"), ["a1"]]);
  await finish("a1");
  await pass(300);
  expect(begun).toEqual(["a1", "a3"]);
  await finish("a3");
  expect(await Promise.all([first, next])).toEqual(["a1", "a3"]);
});

test("several groups call only if both have lately, however long ago one of them did before", () => {
  const traffic = new Traffic();
  for (const group of ["a", "b"]) traffic.note(group);
  expect(traffic.isShared).toBe(true);
  vi.advanceTimersByTime(60_000);
  traffic.note("a");
  expect(traffic.isShared).toBe(false);
  traffic.note("b");
  expect(traffic.isShared).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(traffic.isShared).toBe(false);
});

test("work that fails is followed by a rest as well, and the process keeps no pace of its own", async () => {
  const { begun, start, finish, pass } = openPace("a", "b");
  const failing = start("a1").catch((error: unknown) => error);
  const next = start("a2");
  await pass(10);
  await finish("a1", new Error("broken"));
  expect([await failing, begun]).toEqual([new Error("broken"), ["a1"]]);
  await pass(30);
  expect(begun).toEqual(["a1", "a2"]);
  await finish("a2");
  await next;
  const takeTurn = pace();
  using _outer = await takeTurn();
  using _inner = await takeTurn();
});
