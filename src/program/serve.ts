import { access } from "node:fs/promises";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { makeDataFolder } from "../data_folder.ts";
import { isPretty } from "../log_format.ts";
import { type Command, exitCodes } from "./command.ts";
import { fail, print, sentenceOf } from "./output.ts";
import { settings } from "./settings.ts";
import { stopSignal } from "./signals.ts";

// When the process fails, refusing its calls may take this long.
const lastMs = 2_000;

/** Serves until a signal stops it. */
export const serve: Command = {
  about: "start the service; the default",
  description: [
    "Serves until SIGINT or SIGTERM; calls that run may finish within SHUTDOWN_GRACE_MS, and a second signal ends it at once. SIGHUP reads the certificate again.",
    "The first start creates an organization, an administrator and a sample project, and prints four calls that work as pasted.",
  ],
  examples: [
    ["postern", "with the embedded database in ./data"],
    ["DATABASE_URL=postgresql://… POSTERN_MASTER_KEY=… postern serve", "with a database of yours"],
  ],
  async run() {
    const stopped = stopSignal();
    const endWith = endOnFault();
    const config = settings();
    await keepCompiled(config);
    const { startServer } = await import("../server.ts");
    await using server = await startServer(config);
    endWith(server.fail);
    const people = isPretty(config);
    if (people || server.isFirst) print(server.welcome);
    const signal = await stopped;
    if (people) farewell(signal, config);
    return exitCodes.done;
  },
};

function farewell(signal: NodeJS.Signals, { databaseUrl, dataDir }: Config): void {
  const how = signal === "SIGINT" ? "Ctrl-C again" : `another ${signal}`;
  const data = databaseUrl ? "" : ` Everything is kept in ${dataDir}.`;
  print(["", `Goodbye: running calls finish first; ${how} ends them at once.${data}`]);
}

/** Caches compiled code in the data folder, which takes a third off the next start; without the folder nothing is cached. */
async function keepCompiled({ databaseUrl, dataDir }: Config): Promise<void> {
  // Only the embedded database is a reason to make the folder.
  const there = databaseUrl ? access(dataDir) : makeDataFolder(dataDir);
  const compiled = () => void enableCompileCache(join(dataDir, "compiled"));
  await there.then(compiled, () => {});
}

/**
 * Ends the process with code 1 when an error or a rejected promise reaches nobody: its state is not known any more, and a
 * supervisor starts it again. Answers how to set what is done before the end.
 */
function endOnFault(): (before: (error: unknown) => Promise<void>) => void {
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
