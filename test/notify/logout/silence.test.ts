import { expect, test } from "vitest";
import { rememberSilence } from "../../../src/notify/logout/silence.ts";

const timeoutMs = 5_000;

/** What is remembered, and a clock that stands until it is set. */
function opened() {
  let ms = 0;
  const silences = rememberSilence(timeoutMs, () => ms);
  return {
    ...silences,
    pass: (seconds: number) => {
      ms += seconds * 1000;
    },
  };
}

const to = (owner: string, appId: string, host = "h") => ({ owner, appId, host });

test("an application that gave no answer is asked again by one message at a time, later each time", () => {
  const { wait, unanswered, pass } = opened();
  expect(wait(to("a", "1"))).toBe(0);
  unanswered(to("a", "1"));
  const waits = [1, 2, 4, 8, 16, 32, 60, 60].map((longest) => {
    const first = wait(to("a", "1"));
    pass(first);
    expect(wait(to("a", "1"))).toBe(0);
    expect(wait(to("a", "1"))).toBeGreaterThan(timeoutMs / 1000);
    pass(timeoutMs / 1000);
    unanswered(to("a", "1"));
    return first > 0 && first <= longest;
  });
  expect(waits).toEqual(Array(8).fill(true));
});

test("a host is silent to an organization once two of its applications there are, and to all once three organizations say so", () => {
  const { wait, unanswered } = opened();
  const waits = () =>
    [to("a", "1"), to("a", "2"), to("a", "9"), to("b", "3"), to("d", "4")].map((one) => wait(one) > 0);
  unanswered(to("a", "1"));
  expect(waits()).toEqual([true, false, false, false, false]);
  unanswered(to("a", "1"));
  expect(waits()).toEqual([true, false, false, false, false]);
  unanswered(to("a", "2"));
  expect(waits()).toEqual([true, true, true, false, false]);
  expect(wait(to("a", "9", "another"))).toBe(0);
  unanswered(to("b", "3"));
  expect(waits()).toEqual([true, true, true, true, false]);
  unanswered(to("c", "5"));
  expect(waits()).toEqual([true, true, true, true, true]);
});

test("one answer ends the silence of the host, and of the application that gave it", () => {
  const { wait, unanswered, answered } = opened();
  for (const [owner, appId] of [
    ["a", "1"],
    ["a", "2"],
    ["b", "3"],
    ["c", "4"],
  ] as const)
    unanswered(to(owner, appId));
  answered(to("a", "1"));
  const waits = [to("a", "1"), to("a", "9"), to("a", "2"), to("b", "8"), to("b", "3")].map((one) => wait(one) > 0);
  expect(waits).toEqual([false, false, true, false, true]);
});

test("what is remembered has a bound", () => {
  const { wait, unanswered } = opened();
  unanswered(to("a", "first"));
  for (let n = 0; n < 12_000; n++) unanswered(to("a", String(n), `h${n}`));
  expect([wait(to("a", "first")), wait(to("a", "11999", "h11999")) > 0]).toEqual([0, true]);
});
