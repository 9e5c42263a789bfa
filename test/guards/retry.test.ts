import { expect, test } from "vitest";
import { reasonOf, refuse } from "../../src/errors.ts";
import { Overtaken } from "../../src/events/overtaken.ts";
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

const overtaken = (...streams: string[]) =>
  refuse.because("CONFLICT", { params: { constraint: "events_pkey" }, cause: new Overtaken(streams, true) });

test("commands that lost a race for the same object read it again one after the other", async () => {
  let version = 0;
  let reads = 0;
  const command = async () => {
    const read = version;
    reads++;
    await new Promise(setImmediate);
    if (read !== version) throw overtaken("object");
    version++;
  };
  const { signal } = new AbortController();
  const callers = 20;
  await Promise.all(Array.from({ length: callers }, () => retry(command, { signal })));
  // All read it once, and all but the first once more.
  expect([version, reads]).toEqual([callers, 2 * callers - 1]);
});

test("nobody waits for more than a second for a turn, and those who have gone do not wait at all", {
  timeout: 60_000,
}, async () => {
  const ends: (() => void)[] = [];
  const lost = new Set<number>();
  const begun: number[] = [];
  /** Loses its first race, and then lasts until it is ended. */
  const command = (n: number) => async () => {
    if (!lost.has(n)) {
      lost.add(n);
      throw overtaken("slow");
    }
    begun.push(n);
    await new Promise<void>((end) => ends.push(end));
  };
  const [staying, leaving] = [new AbortController(), new AbortController()];
  const first = retry(command(1), staying);
  const second = retry(command(2), staying);
  const gone = retry(command(3), leaving).catch((error: unknown) => reasonOf(error));
  // Without waiting for anything else: on a busy machine, that could take longer than a turn.
  for (let n = 0; n < 100; n++) await undefined;
  expect(begun).toEqual([1]);
  leaving.abort();
  expect(await gone).toBe("CONFLICT");
  await expect.poll(() => begun, { timeout: 30_000 }).toEqual([1, 2]);
  for (const end of ends) end();
  await Promise.all([first, second]);
});
