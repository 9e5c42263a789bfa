import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { lookAgain } from "../../src/events/follow.ts";

function lookingWith(restMs: number, everyMs = 60_000) {
  const counted = { looks: 0 };
  const onError = (error: unknown) => expect.fail(String(error));
  const look = async () => {
    counted.looks += 1;
    return false;
  };
  return { counted, ...lookAgain({ everyMs, restMs, onError, look }) };
}

test("who looks again rests between two looks, whatever is appended, and can be stopped meanwhile", async () => {
  const { counted, poke, stop } = lookingWith(60_000);
  for (let round = 0; round < 10; round++) {
    await nextTurn();
    poke();
  }
  await nextTurn();
  expect(counted.looks).toBe(1);
  await stop();
  expect(counted.looks).toBe(1);
});

test("the interval between two looks includes the rest", async () => {
  vi.useFakeTimers();
  try {
    const { counted, stop } = lookingWith(20, 80);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(counted.looks).toBeGreaterThan(95);
    await stop();
  } finally {
    vi.useRealTimers();
  }
});

test("what is appended while one rests is looked for after the rest", async () => {
  const { counted, poke, stop } = lookingWith(1);
  await nextTurn();
  poke();
  await vi.waitFor(() => expect(counted.looks).toBeGreaterThan(1), 60_000);
  await stop();
});
