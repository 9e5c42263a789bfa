// Run as a process of its own: starts the service and stops it, and reports which files of tracing were loaded.
import { registerHooks } from "node:module";

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const { readConfig } = await import("../../src/config/config.ts");
const { startServer } = await import("../../src/server/server.ts");
await (await startServer(readConfig()))[Symbol.asyncDispose]();
const tracing = loaded.filter((url) => /\/(src\/tracing|gen\/opentelemetry)\//.test(url)).length;
process.stdout.write(`${JSON.stringify({ all: loaded.length, tracing })}\n`);
