import { expect, test } from "vitest";
import { startTwoNodes } from "../../two_nodes.ts";
import { guessForDays } from "../days_of_guesses.ts";

test("in a month, of guesses from 10,000 addresses at one name, ten in a row are checked at most and 10,000 in all, and its user gets in all the time", {
  timeout: 1_800_000,
}, async () => {
  await using nodes = await startTwoNodes();
  // Waits of 15 and 30 minutes, then 720 of an hour, and ten guesses before each.
  expect(await guessForDays(nodes, 30)).toEqual({ rounds: 722, checked: 7_220 });
});
