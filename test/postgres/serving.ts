import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { newToken } from "../../src/security/token.ts";
import { compiled } from "../compiled.ts";
import { type Client, clientOf } from "../harness.ts";
import { program } from "../program.ts";
import { connectHttp1 } from "../wire/http1.ts";
import { until } from "./embedded/holder.ts";

const preload = fileURLToPath(new URL("./fault.ts", import.meta.url));

type Line = Readonly<Record<string, unknown>>;

/** The service as a process of its own. */
export type Serving = AsyncDisposable & {
  readonly url: string;
  readonly admin: Client;
  readonly child: ChildProcess;
  /** All lines of its log so far; those that are no JSON are empty. */
  readonly lines: readonly Line[];
  /** All that it wrote to its standard error so far. */
  readonly errors: () => string;
};

/** Starts the service as a process of its own; the signal SIGUSR2 makes it reject a promise that nobody handles. */
export async function serve(databaseUrl: string, settings: Record<string, string> = {}): Promise<Serving> {
  const dataDir = await mkdtemp(join(tmpdir(), "postern-serving-"));
  const token = newToken("pt");
  const env = {
    ...compiled,
    ...{
      DATABASE_URL: databaseUrl,
      POSTERN_DATA_DIR: dataDir,
      PORT: "0",
      LOG_FORMAT: "json",
      POSTERN_ADMIN_TOKEN: token,
    },
    ...{ POSTERN_MASTER_KEY: randomBytes(32).toString("base64"), HASH_MEMORY_KIB: "64", HASH_ITERATIONS: "1" },
    ...settings,
  };
  const child = spawn(process.execPath, ["--import", preload, program], { env, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
    process.stderr.write(text);
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const lines: Line[] = [];
  createInterface(child.stdout).on("line", (line) => lines.push(line.startsWith("{") ? JSON.parse(line) : {}));
  await using opened = new AsyncDisposableStack();
  // Workers that end with their parent still write into the folder.
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  opened.defer(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const { PORT } = settings;
  const url = PORT ? `http://127.0.0.1:${PORT}` : await until(async () => urlIn(lines) ?? false, 60_000);
  await until(async () => (await readyStatus(url)) === 200, 60_000);
  const stack = opened.move();
  const about = { url, admin: clientOf(url, token), child, lines, errors: () => errors };
  return { ...about, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The status of `/readyz`, of a server with a certificate of its own too. */
async function readyStatus(url: string): Promise<number> {
  using client = connectHttp1(url);
  return (await client.send({ method: "GET", path: "/readyz", headers: {}, body: Buffer.alloc(0) })).status;
}

function urlIn(lines: readonly Line[]): string | undefined {
  const url = lines.find((line) => typeof line.url === "string")?.url;
  return typeof url === "string" ? url : undefined;
}
