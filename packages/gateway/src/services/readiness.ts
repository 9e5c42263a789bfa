import { seldom } from "./seldom.ts";

/** Checks whether this node can serve. */
export type Ready = () => boolean | Promise<boolean>;

/** Returns a recent result of the check. */
export type Readiness = () => Promise<boolean>;

const checkTimeoutMs = 1_000;

/**
 * Caches a check for a moment; a check that takes longer than a second counts as not ready. Concurrent callers share one check, and the
 * next begins only after it has ended.
 */
export function readiness(ready: Ready): Readiness {
  let pending: Promise<boolean> | undefined;
  const check = () => {
    pending ??= checkSafely(ready).finally(() => {
      pending = undefined;
    });
    return pending;
  };
  return seldom(() => withinTime(check()), 250);
}

async function checkSafely(ready: Ready): Promise<boolean> {
  try {
    return await ready();
  } catch {
    return false;
  }
}

function withinTime(check: Promise<boolean>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, checkTimeoutMs, false);
  void check.then((isReady) => {
    clearTimeout(timer);
    resolve(isReady);
  });
  return promise;
}
