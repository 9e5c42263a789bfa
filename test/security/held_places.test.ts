import { expect, test } from "vitest";
import { Parts } from "../../src/security/held_places.ts";
import { noShare, type Share, unknownCallers } from "../../src/security/turns.ts";

/** Takes places for a share until it may have no more of so many; answers how many it took. */
function takeAll(parts: Parts, share: Share, places: number): number {
  let taken = 0;
  for (; parts.mayTake(share, places); taken++) parts.take(share);
  return taken;
}

test.each([
  [1, [1, 0]],
  [2, [1, 1, 0]],
  [4, [3, 1, 0]],
  [5, [3, 1, 1, 0]],
  [11, [8, 2, 1, 0]],
  [1000, [750, 187, 47, 12, 3, 1, 0]],
])("of %i places, organizations that come one after the other and take all they may get %j", (places, expected) => {
  const parts = new Parts();
  expect(expected.map((_, n) => takeAll(parts, [`organization ${n}`, ""], places))).toEqual(expected);
});

test("unknown callers together have the part of one organization, and a network half of all", () => {
  const parts = new Parts();
  const networks = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"];
  expect(networks.map((network) => takeAll(parts, [unknownCallers, network], 1000))).toEqual([500, 250, 0, 0, 0]);
  expect(takeAll(parts, ["an organization", ""], 1000)).toBe(187);
});

test("the process itself is not limited", () => {
  expect(takeAll(new Parts(), noShare, 11)).toBe(11);
});

test("what is given back can be taken again", () => {
  const parts = new Parts();
  const share: Share = [unknownCallers, "192.0.2.1"];
  for (let round = 0; round < 3; round++) {
    const taken = takeAll(parts, share, 11);
    expect([taken, parts.held]).toEqual([5, 5]);
    for (let n = 0; n < taken; n++) parts.give(share);
  }
});
