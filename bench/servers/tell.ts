/** Tells the parent where a server listens, answers what the process uses, and ends it when asked to. */
export async function tell(url: string, server?: AsyncDisposable): Promise<void> {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ usage: { cpu: user + system, rss: process.memoryUsage.rss() } });
  });
  process.once("SIGTERM", async () => {
    await server?.[Symbol.asyncDispose]();
    process.disconnect();
    process.exitCode = 0;
  });
  process.send?.({ url });
}
