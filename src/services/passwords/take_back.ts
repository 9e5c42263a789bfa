import { setTimeout as pause } from "node:timers/promises";
import { isOutcomeUnknown } from "../../postgres/failure.ts";

const pauseMs = 500;
const mostTries = 120;

/**
 * Makes a write that takes something back, retrying in the background if a busy database refuses it: an attempt that stayed counted could
 * lock out somebody who made none. If the outcome of a write is unknown, it is not repeated.
 */
export async function takeBack(write: () => PromiseLike<unknown>): Promise<void> {
  const isOver = await made(write);
  if (!isOver) void goOn(write);
}

async function goOn(write: () => PromiseLike<unknown>): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    await pause(pauseMs, undefined, { ref: false });
    if (await made(write)) return;
  }
}

async function made(write: () => PromiseLike<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    return isOutcomeUnknown(error);
  }
}
