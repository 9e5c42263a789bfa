/** Whether this node can serve. */
export type Ready = () => boolean | Promise<boolean>;

/** Asks at most once in a while, however many ask: whoever asks is not signed in. */
export function readiness(ready: Ready, freshMs = 250): () => Promise<boolean> {
  let asked = -Infinity;
  let answer = Promise.resolve(false);
  let running = false;
  return () => {
    if (running || performance.now() - asked < freshMs) return answer;
    running = true;
    answer = ask(ready).finally(() => {
      running = false;
      asked = performance.now();
    });
    return answer;
  };
}

async function ask(ready: Ready): Promise<boolean> {
  try {
    return await ready();
  } catch {
    return false;
  }
}
