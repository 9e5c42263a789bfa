import { setTimeout as pause } from "node:timers/promises";
import type { Call } from "../deps.ts";
import { isLostRace } from "../errors.ts";

// A command that takes long from its read to its write loses many races while others change the same object all the time.
const tries = 16;
const pauseMs = 20;
const longestPauseMs = 160;

/** Reruns a command from its read if it lost a race, a limited number of times. */
export async function retry<T>(command: () => Promise<T>, call: Pick<Call, "signal">): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await command();
    } catch (error) {
      if (!isLostRace(error) || attempt === tries || call.signal.aborted) throw error;
      const { signal } = call;
      await pause(Math.random() * Math.min(pauseMs * attempt, longestPauseMs), undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}
