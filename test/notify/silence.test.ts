import { expect, test } from "vitest";
import { type Destination, rememberSilence } from "../../src/notify/silence.ts";

const timeoutMs = 5_000;

/** What is remembered, and a clock that stands until it is set. */
function opened() {
  let ms = 0;
  const silences = rememberSilence(timeoutMs, { now: () => ms });
  return {
    wait: silences.wait,
    answered: (to: Destination) => silences.ended(to, "answered"),
    unanswered: (to: Destination) => silences.ended(to, "unanswered"),
    pass: (seconds: number) => {
      ms += seconds * 1000;
    },
  };
}

const to = (owner: string, receiver: string, host = "h") => ({ owner, receiver, host });

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

test("a host is silent to an organization once two of its applications there are, whatever others find", () => {
  const { wait, unanswered } = opened();
  const waits = () => [to("a", "1"), to("a", "2"), to("a", "9"), to("b", "3")].map((one) => wait(one) > 0);
  unanswered(to("a", "1"));
  expect(waits()).toEqual([true, false, false, false]);
  unanswered(to("a", "1"));
  expect(waits()).toEqual([true, false, false, false]);
  unanswered(to("a", "2"));
  expect(waits()).toEqual([true, true, true, false]);
  expect(wait(to("a", "9", "another"))).toBe(0);
});

test("a host that three organizations find silent is asked by each with one message at a time, and has a few places", () => {
  const { wait, unanswered, answered, pass } = opened();
  for (const owner of ["x", "y", "z"]) unanswered(to(owner, owner));
  // They cannot set it aside for others.
  const owners = ["a", "b", "c", "d", "e", "f"];
  expect(owners.map((owner) => wait(to(owner, `${owner}1`)))).toEqual(Array(6).fill(0));
  expect(owners.map((owner) => wait(to(owner, `${owner}2`)) > 0)).toEqual(Array(6).fill(true));
  expect(wait(to("g", "g1"))).toBeGreaterThan(0);
  unanswered(to("a", "a1"));
  expect([wait(to("a", "a2")) > 0, wait(to("g", "g1")), wait(to("h", "h1")) > 0]).toEqual([true, 0, true]);
  answered(to("g", "g1"));
  pass(1);
  expect([wait(to("g", "g2")), wait(to("g", "g3")), wait(to("i", "i1")), wait(to("i", "i2"))]).toEqual([0, 0, 0, 0]);
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
