import { seldom } from "./seldom.ts";

/** Whether this node can serve. */
export type Ready = () => boolean | Promise<boolean>;

/** Whether this node can serve, as of a moment ago. */
export type Readiness = () => Promise<boolean>;

const answerMs = 1_000;

/**
 * Whether this node can serve, as of a moment ago; not, when that cannot be told within a second. All who ask share one question,
 * and another one is put only when it has been answered.
 */
export function readiness(ready: Ready): Readiness {
  let asking: Promise<boolean> | undefined;
  const question = () => {
    asking ??= ask(ready).finally(() => {
      asking = undefined;
    });
    return asking;
  };
  return seldom(() => inTime(question()), 250);
}

async function ask(ready: Ready): Promise<boolean> {
  try {
    return await ready();
  } catch {
    return false;
  }
}

function inTime(answer: Promise<boolean>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const late = setTimeout(resolve, answerMs, false);
  void answer.then((is) => {
    clearTimeout(late);
    resolve(is);
  });
  return promise;
}
