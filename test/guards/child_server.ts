import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Config } from "../../src/config.ts";

const program = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** The service as a process of its own, which can be killed. */
export async function startChild({ databaseUrl = "", masterKeys = [], dataDir }: Config) {
  const env = {
    ...{ DATABASE_URL: databaseUrl, POSTERN_DATA_DIR: dataDir, PORT: "0", LOG_FORMAT: "json" },
    POSTERN_MASTER_KEY: masterKeys.map((key) => Buffer.from(key).toString("base64")).join(","),
  };
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const end = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  for await (const line of createInterface(child.stdout)) {
    const url: unknown = line.startsWith("{") ? JSON.parse(line).url : undefined;
    if (typeof url !== "string") continue;
    child.stdout.resume();
    return { url, kill: end, [Symbol.asyncDispose]: end };
  }
  throw new Error("the process ended before it listened");
}
