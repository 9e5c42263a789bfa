import { expect, test } from "vitest";
import { reasonOf, refuse } from "../../src/errors.ts";
import { retry } from "../../src/guards/retry.ts";

/** A command that loses so many races before it wins, and how often it ran. */
function losing(races: number, params: Record<string, string> = { constraint: "events_pkey" }) {
  let runs = 0;
  const command = async () => {
    runs++;
    if (runs <= races) throw refuse.because("CONFLICT", { params });
    return "won";
  };
  const call = { signal: new AbortController().signal };
  const ended = () => retry(command, call).catch((error: unknown) => reasonOf(error));
  return { ended, runs: () => runs };
}

test("a command that loses one race after the other wins in the end, unless they are too many", async () => {
  const [some, many] = [losing(15), losing(16)];
  expect(await Promise.all([some.ended(), many.ended()])).toEqual(["won", "CONFLICT"]);
  expect([some.runs(), many.runs()]).toEqual([16, 16]);
});

test("a command whose caller expected another sequence is not tried again", async () => {
  const command = losing(1, { currentSequence: "3" });
  expect([await command.ended(), command.runs()]).toEqual(["CONFLICT", 1]);
});
