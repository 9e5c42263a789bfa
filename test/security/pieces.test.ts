import { expect, test } from "vitest";
import { workFor } from "../../src/security/current_share.ts";
import { mapInPieces, pause } from "../../src/security/pieces.ts";
import type { Share } from "../../src/security/turns.ts";

const shareOf = (organization: string, caller = "c"): Share => [organization, caller];

/** Holds the event loop for longer than a piece of work may. */
function hold(): void {
  const until = performance.now() + 2;
  while (performance.now() < until);
}

test("work goes on at once until it has held the event loop", async () => {
  await new Promise(setImmediate);
  expect(pause(shareOf("a"))).toBeUndefined();
  hold();
  expect(pause(shareOf("a"))).toBeInstanceOf(Promise);
  await new Promise(setImmediate);
});

test("organizations take turns, however much work one of them has, and others get the event loop in between", async () => {
  const order: string[] = [];
  const long = async (organization: string, name: string) => {
    for (let piece = 0; piece < 3; piece++) {
      await pause(shareOf(organization, name));
      hold();
      order.push(organization);
    }
  };
  pause();
  hold();
  let iterations = 0;
  const others = setInterval(() => (iterations += 1), 0);
  await Promise.all([...Array.from({ length: 20 }, (_, n) => long("large", `caller ${n}`)), long("small", "caller")]);
  clearInterval(others);
  // The small one had its three turns among the first few, though twenty of the large one came before.
  expect(order.lastIndexOf("small")).toBeLessThan(10);
  expect(order).toHaveLength(63);
  expect(iterations).toBeGreaterThan(30);
});

test("a list is mapped in order, for the organization whose work it is", async () => {
  const items = Array.from({ length: 100 }, (_, n) => n);
  const mapped = await workFor({ shares: [shareOf("a")] }, () =>
    mapInPieces(items, (item, index) => {
      if (index % 10 === 0) hold();
      return item * 2 + index;
    }),
  );
  expect(mapped).toEqual(items.map((item) => item * 3));
});
