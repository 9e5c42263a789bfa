import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { refuse } from "../../src/errors.ts";
import { type LateRefusals, lateRefusals } from "../../src/guards/late_refusals.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterEach(() => void vi.useRealTimers());

const throwing = (error: unknown) => () => {
  throw error;
};

/** A call that is refused; its outcome is the error once the caller has been told. */
function refusedCall(
  late: LateRefusals,
  work: () => unknown = throwing(refuse.because("RATE_LIMIT")),
  leftMs?: number,
) {
  const call: { outcome?: unknown } = {};
  const told = (error: unknown) => {
    call.outcome = error;
  };
  Promise.resolve(late(work, leftMs)).catch(told);
  return call;
}

async function pass(ms: number): Promise<void> {
  await settled();
  vi.advanceTimersByTime(ms);
  await settled();
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a call that a limit refuses is told a moment later, whether its refusal is thrown or rejected", async () => {
  const late = lateRefusals();
  for (const reason of ["RATE_LIMIT", "PASSWORD_ATTEMPTS"] as const) {
    const error = refuse.because(reason);
    for (const work of [throwing(error), () => Promise.reject(error)]) {
      const call = refusedCall(late, work);
      await pass(99);
      expect(call.outcome).toBeUndefined();
      await pass(1);
      expect(call.outcome).toBe(error);
    }
  }
});

test("other outcomes come at once: a result, another refusal, and that of a node which has too many calls", async () => {
  const late = lateRefusals();
  expect(late(() => 1)).toBe(1);
  expect(await late(async () => 2)).toBe(2);
  for (const reason of ["OVERLOADED", "TOKEN_INVALID"] as const) {
    const error = refuse.because(reason);
    expect(() => late(throwing(error))).toThrow(error);
    const call = refusedCall(late, () => Promise.reject(error));
    await settled();
    expect(call.outcome).toBe(error);
  }
});

test("a caller whose deadline is near is told before it", async () => {
  const late = lateRefusals();
  const error = refuse.because("RATE_LIMIT");
  const calls = [throwing(error), () => Promise.reject(error)].map((work) => refusedCall(late, work, 50));
  await pass(24);
  expect(calls.map(({ outcome }) => outcome)).toEqual([undefined, undefined]);
  await pass(1);
  expect(calls.map(({ outcome }) => outcome)).toEqual([error, error]);
});

test("64 wait, and the next are refused at once, until somebody has been told", async () => {
  const late = lateRefusals();
  const waiting = Array.from({ length: 64 }, () => refusedCall(late));
  const next = refusedCall(late);
  await settled();
  expect([next.outcome !== undefined, waiting.some(({ outcome }) => outcome)]).toEqual([true, false]);
  await pass(100);
  expect(waiting.every(({ outcome }) => outcome)).toBe(true);
  const later = refusedCall(late);
  await pass(99);
  expect(later.outcome).toBeUndefined();
  await pass(1);
  expect(later.outcome).toBeDefined();
});
