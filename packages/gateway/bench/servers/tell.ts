/** Tells the parent where a server listens, answers what the process uses, and ends it when asked to. */
export async function tell(url: string, server?: AsyncDisposable): Promise<void> {
  process.on("message", (request) => {
    // There only with --expose-gc.
    if (request === "collect") globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed, external } = process.memoryUsage();
    process.send?.({ usage: { cpu: user + system, rss, held: heapUsed + external } });
  });
  process.once("SIGTERM", async () => {
    await server?.[Symbol.asyncDispose]();
    process.disconnect();
    process.exitCode = 0;
  });
  process.send?.({ url });
}
