import type { Call } from "../deps.ts";
import { isLostRace } from "../errors.ts";
import { keyLines } from "../events/key_lines.ts";
import { overtakenIn } from "../events/overtaken.ts";
import { rest } from "../security/pace.ts";

// A command that takes long from its read to its write loses many races while others change the same object all the time.
const tries = 16;
const pauseMs = 20;
const longestPauseMs = 160;
// The command whose turn it is may take long. It may even be the one within which this command runs.
const longestTurnMs = 1_000;

// Commands that were overtaken. If they all read again at once, one would win, and the others would have read in vain.
const lines = keyLines<readonly string[]>({ keysOf: (streams) => streams });

/** Reruns a command from its read if it lost a race, a limited number of times. Those that lost it for the same object take turns. */
export async function retry<T>(command: () => Promise<T>, call: Pick<Call, "signal">): Promise<T> {
  let leave: (() => void) | undefined;
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return await command();
      } catch (error) {
        if (!isLostRace(error) || attempt === tries || call.signal.aborted) throw error;
        const { signal } = call;
        const streams = overtakenIn(error);
        if (streams && !leave) leave = await turn(streams, signal);
        else await rest(Math.random() * Math.min(pauseMs * attempt, longestPauseMs), signal);
        if (signal.aborted) throw error;
      }
    }
  } finally {
    leave?.();
  }
}

/** Waits for the commands that came before to end, but not for long; returns a function that lets the next one go. */
async function turn(streams: readonly string[], signal: AbortSignal): Promise<() => void> {
  const entrant = { job: streams, reject() {} };
  const waiting = new AbortController();
  const go = () => waiting.abort();
  lines.enter(entrant, go);
  signal.addEventListener("abort", go);
  await rest(longestTurnMs, waiting.signal);
  signal.removeEventListener("abort", go);
  return () => lines.leave(entrant);
}
