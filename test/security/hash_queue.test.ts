import { expect, test } from "vitest";
import { HashQueueFull, hashQueue, retryWhileFull } from "../../src/security/hash_queue.ts";

function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { closed: () => promise, open: resolve };
}

test("no more run at a time than may, and the rest run in the order they came", async () => {
  const { enqueue, load } = hashQueue({ concurrency: 2, queue: 10 });
  const order: number[] = [];
  let atOnce = 0;
  let most = 0;
  const work = async (n: number) => {
    order.push(n);
    most = Math.max(most, ++atOnce);
    await new Promise(setImmediate);
    atOnce--;
  };
  await Promise.all([1, 2, 3, 4, 5].map((n) => enqueue(() => work(n))));
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(most).toBe(2);
  expect(load()).toEqual({ running: 0, waiting: 0, concurrency: 2, queue: 10 });
});

test("a full queue refuses at once and says when to come back", async () => {
  const { enqueue, load } = hashQueue({ concurrency: 1, queue: 1 });
  const first = gate();
  const running = enqueue(first.closed);
  const waiting = enqueue(async () => "waited");
  const refused = await enqueue(async () => "never").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(HashQueueFull);
  expect(refused).toMatchObject({ retrySeconds: 1 });
  expect(load()).toMatchObject({ running: 1, waiting: 1 });
  first.open();
  await running;
  expect(await waiting).toBe("waited");
});

test("work of the process itself waits where the queue is full", async () => {
  const { enqueue } = hashQueue({ concurrency: 1, queue: 0 });
  const first = gate();
  const running = enqueue(first.closed);
  let tries = 0;
  const own = retryWhileFull(() => {
    tries += 1;
    return enqueue(async () => "done");
  });
  expect(tries).toBe(1);
  first.open();
  await running;
  expect(await own).toBe("done");
  await expect(retryWhileFull(() => Promise.reject(new Error("another")))).rejects.toThrow("another");
});

test("who gives up leaves the queue, starts nothing and makes room", async () => {
  const { enqueue, load } = hashQueue({ concurrency: 1, queue: 1 });
  const first = gate();
  const running = enqueue(first.closed);
  const caller = new AbortController();
  let started = false;
  const left = enqueue(
    async () => {
      started = true;
    },
    { signal: caller.signal },
  );
  caller.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  expect(load().waiting).toBe(0);
  const next = enqueue(async () => "next");
  first.open();
  await running;
  expect(await next).toBe("next");
  expect(started).toBe(false);
});

test("who gave up before asking starts nothing", async () => {
  const { enqueue, load } = hashQueue({ concurrency: 1, queue: 1 });
  let started = false;
  const asked = enqueue(
    async () => {
      started = true;
    },
    { signal: AbortSignal.abort(new Error("gone")) },
  );
  await expect(asked).rejects.toThrow("gone");
  expect(started).toBe(false);
  expect(load().running).toBe(0);
});

test("who gives up in the moment of being called starts nothing and hands its place on", async () => {
  const { enqueue, load } = hashQueue({ concurrency: 1, queue: 2 });
  const first = gate();
  const caller = new AbortController();
  let started = false;
  enqueue(first.closed);
  const called = enqueue(
    async () => {
      started = true;
    },
    { signal: caller.signal },
  );
  const after = enqueue(async () => "after");
  // Runs after the first has called the second, and before the second goes on.
  first.closed().then(() => {
    expect(load()).toMatchObject({ running: 1, waiting: 1 });
    caller.abort(new Error("gone"));
  });
  first.open();
  await expect(called).rejects.toThrow("gone");
  expect(started).toBe(false);
  expect(await after).toBe("after");
  expect(load()).toMatchObject({ running: 0, waiting: 0 });
});

test("work that fails gives its place back", async () => {
  const { enqueue, load } = hashQueue({ concurrency: 1, queue: 0 });
  await expect(enqueue(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(load().running).toBe(0);
  expect(await enqueue(async () => "fine")).toBe("fine");
});

test("an organization that takes all places gets a part of them while others wait", async () => {
  const { enqueue } = hashQueue({ concurrency: 1, queue: 100 });
  const first = gate();
  const order: string[] = [];
  const hash = (group: string, member: string) =>
    enqueue(async () => void order.push(group + member), { share: [group, member] });
  const all = [enqueue(first.closed)];
  for (let n = 0; n < 6; n++) all.push(hash("A", "1"));
  all.push(hash("A", "2"), hash("B", "1"), hash("B", "1"), hash("", "x"));
  first.open();
  await Promise.all(all);
  expect(order).toEqual(["A1", "B1", "x", "A2", "B1", "A1", "A1", "A1", "A1", "A1"]);
});

test("a full queue has room for whoever has fewer waiting, and refuses the last of those who have the most", async () => {
  const { enqueue, load } = hashQueue({ concurrency: 1, queue: 4 });
  const first = gate();
  const running = enqueue(first.closed);
  const ran: string[] = [];
  const refused: string[] = [];
  const hash = (group: string, member: string, name: string) =>
    enqueue(async () => void ran.push(name), { share: [group, member] }).catch((error: unknown) => {
      expect(error).toBeInstanceOf(HashQueueFull);
      refused.push(name);
    });
  const all = [hash("", "1", "a"), hash("", "1", "b"), hash("", "1", "c"), hash("", "2", "d")];
  // Of the unknown callers the network with the most gives way; one with as many as the others gets nothing.
  all.push(hash("B", "1", "e"), hash("", "3", "f"), hash("", "2", "g"));
  expect(load().waiting).toBe(4);
  first.open();
  await Promise.all([running, ...all]);
  expect(refused.sort()).toEqual(["b", "c", "g"]);
  expect(ran).toEqual(["a", "e", "d", "f"]);
  expect(load()).toMatchObject({ running: 0, waiting: 0 });
});
