import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "../first_start.ts";
import { freePort } from "../wire/free_port.ts";

/** The configuration that is shipped. */
export const shippedFile = fileURLToPath(new URL("../../deploy/haproxy.cfg", import.meta.url));

/** A running HAProxy. */
export type Balancer = AsyncDisposable & {
  readonly url: string;
  /** Waits until a node has been checked and has the state; before its first check HAProxy takes it for UP. */
  readonly untilState: (node: string, state: "UP" | "DOWN") => Promise<void>;
};

/** Fails with the words of HAProxy for a file that it refuses. */
export const checkFile = (path: string) => promisify(execFile)("haproxy", ["-c", "-f", path]);

/** Starts HAProxy with the shipped lines, on other addresses, and with changes where a test tries other lines. */
export async function startBalancer(
  nodes: Readonly<Record<"one" | "two", string>>,
  change: (shipped: string) => string = (shipped) => shipped,
): Promise<Balancer> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "postern-haproxy-"));
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const [port, statistics] = [await freePort(), join(folder, "stats")];
  let text = change(await readFile(shippedFile, "utf8"));
  text = replaced(text, "bind :8080", `bind 127.0.0.1:${port}`);
  for (const [name, url] of Object.entries(nodes))
    text = replaced(text, `server ${name} ${name}:8080`, `server ${name} ${new URL(url).host}`);
  const file = join(folder, "haproxy.cfg");
  await writeFile(file, `global\n  stats socket ${statistics}\n\n${text}`);
  const child = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
  let words = "";
  child.stderr.on("data", (chunk: Buffer) => {
    words += chunk;
  });
  const exited = once(child, "exit");
  opened.defer(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const states = () => statesOf(statistics);
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${words}`);
    return states().catch(() => undefined);
  }, "HAProxy");
  const stack = opened.move();
  return {
    url: `http://127.0.0.1:${port}`,
    async untilState(node, state) {
      const wanted = state === "UP" ? "UP L7OK" : "DOWN";
      await eventually(async () => (await states())[node]?.startsWith(wanted) || undefined, `${node} to be ${state}`);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Replaces what must be there exactly once. */
function replaced(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`the configuration does not say "${from}" once`);
  return text.replace(from, to);
}

/** The state of each node with the result of its last check: `UP L7OK`. */
async function statesOf(path: string): Promise<Readonly<Record<string, string>>> {
  const socket = connect(path);
  socket.end("show stat\n");
  let text = "";
  for await (const chunk of socket) text += chunk;
  const [head = [], ...rows] = text
    .replace(/^# /, "")
    .trim()
    .split("\n")
    .map((line) => line.split(","));
  const cell = (row: readonly string[], name: string) => row[head.indexOf(name)] ?? "";
  const nodes = rows.filter((row) => cell(row, "pxname") === "nodes" && cell(row, "svname") !== "BACKEND");
  return Object.fromEntries(
    nodes.map((row) => [cell(row, "svname"), `${cell(row, "status")} ${cell(row, "check_status")}`]),
  );
}
