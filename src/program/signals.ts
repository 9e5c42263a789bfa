const signals = ["SIGINT", "SIGTERM"] as const;

/** The first signal to stop. The handlers are then removed, so that a second signal ends the process as usual. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      for (const one of signals) process.removeListener(one, stop);
      resolve(signal);
    };
    for (const signal of signals) process.on(signal, stop);
  });
}
