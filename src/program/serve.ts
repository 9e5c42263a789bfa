import { access } from "node:fs/promises";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { type Config, readConfig } from "../config/config.ts";
import { makeDataFolder } from "../config/data_folder.ts";
import { isPretty } from "../config/log_format.ts";
import { type Command, exitCodes } from "./command.ts";
import { fail, print, sentenceOf } from "./output.ts";
import { settings } from "./settings.ts";
import { stopSignal } from "./signals.ts";

// The time that refusing calls may take when the process fails.
const lastMs = 2_000;

/** Serves until a signal stops it. */
export const serve: Command = {
  about: "start the service; the default",
  description: [
    "Serves until SIGINT or SIGTERM. Running calls then have SHUTDOWN_GRACE_MS to finish; a second signal ends the process at once. SIGHUP reloads the certificate.",
    "The first start creates an organization, an administrator and a sample project, and prints four calls that work as pasted.",
  ],
  examples: [
    ["postern", "with the embedded database in ./data"],
    ["DATABASE_URL=postgresql://… POSTERN_MASTER_KEY=… postern serve", "with your own database"],
  ],
  async run() {
    const stopped = stopSignal();
    const endWith = endOnFault();
    const config = settings();
    await keepCompiled(config);
    return config.workers > 1 ? serveByWorkers(config, stopped, endWith) : serveAlone(config, stopped, endWith);
  },
};

/** Runs one worker of a node that has several; not a command for people. */
export const worker: Command = {
  about: "serve as one of several processes; started by serve",
  takes: { least: 1, most: 1, shown: "NUMBER" },
  async run() {
    const endWith = endOnFault();
    const { findParent } = await import("../workers/parent.ts");
    using parent = await findParent(exitCodes.failed);
    const { number, of } = parent.assignment;
    const { shareOf } = await import("../workers/share.ts");
    const config = shareOf(readConfig(), number, of);
    await keepCompiled(config);
    const { startServer } = await import("../server/server.ts");
    await using server = await startServer(config, parent);
    endWith(server.fail);
    const { url, operationsUrl, isFirst, welcome } = server;
    parent.serving({ url, operationsUrl, isFirst, welcome });
    await parent.stopped;
    return exitCodes.done;
  },
};

type EndWith = (before: (error: unknown) => Promise<void>) => void;

async function serveAlone(config: Config, stopped: Promise<NodeJS.Signals>, endWith: EndWith): Promise<number> {
  const { startServer } = await import("../server/server.ts");
  await using server = await startServer(config);
  endWith(server.fail);
  announce(server, config);
  const signal = await stopped;
  if (isPretty(config)) farewell(signal, config);
  return exitCodes.done;
}

async function serveByWorkers(config: Config, stopped: Promise<NodeJS.Signals>, endWith: EndWith): Promise<number> {
  const { startWorkers } = await import("../workers/start_workers.ts");
  await using node = await startWorkers(config);
  // The worker that failed to start has written why.
  if (!node) return exitCodes.failed;
  endWith(node.fail);
  announce(node.start, config);
  const signal = await Promise.race([stopped, node.lost]);
  if (!signal) return fail(exitCodes.failed, "no worker is serving, and none can be started");
  if (isPretty(config)) farewell(signal, config);
  return (await node.stop()) ? exitCodes.done : exitCodes.failed;
}

function announce({ isFirst, welcome }: Readonly<{ isFirst: boolean; welcome: readonly string[] }>, config: Config) {
  if (isPretty(config) || isFirst) print(welcome);
}

function farewell(signal: NodeJS.Signals, { databaseUrl, dataDir }: Config): void {
  const how = signal === "SIGINT" ? "Ctrl-C again" : `another ${signal}`;
  const data = databaseUrl ? "" : ` Everything is kept in ${dataDir}.`;
  print(["", `Goodbye: running calls finish first; ${how} ends them at once.${data}`]);
}

/** Caches compiled code in the data folder, which makes the next start a third faster; without the folder, nothing is cached. */
async function keepCompiled({ databaseUrl, dataDir }: Config): Promise<void> {
  // Only the embedded database is a reason to create the folder.
  const there = databaseUrl ? access(dataDir) : makeDataFolder(dataDir);
  const compiled = () => void enableCompileCache(join(dataDir, "compiled"));
  await there.then(compiled, () => {});
}

/**
 * Ends the process with code 1 on an uncaught error or rejection: its state is unknown by then, and a supervisor restarts it. Returns a
 * function that sets what to do before the end.
 */
function endOnFault(): EndWith {
  let prepare: ((error: unknown) => Promise<void>) | undefined;
  const end = () => process.exit(exitCodes.failed);
  // Node raises an unhandled rejection as an uncaught exception.
  process.on("uncaughtException", (error: unknown) => {
    if (!prepare) {
      fail(exitCodes.failed, sentenceOf(error));
      return end();
    }
    setTimeout(end, lastMs);
    prepare(error).then(end, end);
  });
  return (before) => {
    prepare = before;
  };
}
