import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Config } from "../../src/config.ts";

const program = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

type Line = Readonly<Record<string, unknown>>;

/** The service as a process of its own, which can be killed, and whose log can be read. */
export async function startChild({ databaseUrl = "", masterKeys = [], dataDir, logLevel, ...more }: Config) {
  const env = {
    ...{ TLS_CERT_FILE: more.tlsCertFile, TLS_KEY_FILE: more.tlsKeyFile },
    ...{ DATABASE_URL: databaseUrl, POSTERN_DATA_DIR: dataDir, PORT: "0", LOG_FORMAT: "json" },
    LOG_LEVEL: logLevel === "silent" ? "info" : logLevel,
    POSTERN_MASTER_KEY: masterKeys.map((key) => Buffer.from(key).toString("base64")).join(","),
  };
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  const { url } = await line((one) => typeof one.url === "string");
  const signal = (name: NodeJS.Signals) => child.kill(name);
  return { url: String(url), line, kill, signal, exited, [Symbol.asyncDispose]: kill };

  /** The next line of the log that is like this. */
  async function line(like: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error("the process ended without the line");
      const one: Line = value.startsWith("{") ? JSON.parse(value) : {};
      if (like(one)) return one;
    }
  }
}
