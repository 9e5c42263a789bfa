import { setTimeout as pause } from "node:timers/promises";
import type { Call } from "../deps.ts";
import { isLostRace } from "../errors.ts";

const tries = 8;
const longestPauseMs = 20;

/** Reruns a command from its read if it lost a race, a limited number of times. */
export async function retry<T>(command: () => Promise<T>, call: Pick<Call, "signal">): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await command();
    } catch (error) {
      if (!isLostRace(error) || attempt === tries || call.signal.aborted) throw error;
      await pause(Math.random() * longestPauseMs * attempt);
    }
  }
}
