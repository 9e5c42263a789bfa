import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const longestStartMs = 600_000;

/** A program of somebody else that runs. */
export type Program = AsyncDisposable & { readonly pid: number };

/** A command with its arguments, and its environment besides the path. */
export type Command = {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** Starts a program, and waits until it is ready. */
export async function startProgram(command: Command, isReady: () => Promise<boolean>): Promise<Program> {
  const child = spawn(command.file, [...command.args], { env: envOf(command), stdio: ["ignore", "ignore", "inherit"] });
  await once(child, "spawn");
  const program = { pid: child.pid ?? 0, [Symbol.asyncDispose]: () => ended(child) };
  for (const end = Date.now() + longestStartMs; !(await isReady().catch(() => false)); await pause(10)) {
    if (child.exitCode === null && child.signalCode === null && Date.now() < end) continue;
    await ended(child);
    throw new Error(`${command.file} did not start`);
  }
  return program;
}

/** Runs a program to its end. */
export async function finish(command: Command): Promise<void> {
  await run(command.file, [...command.args], { env: envOf(command) });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}

const envOf = ({ env }: Command) => ({
  ...{ PATH: process.env.PATH, HOME: tmpdir(), JAVA_HOME: process.env.JAVA_HOME, ...env },
});

/** The only child of a process: what a script of the shell runs. */
export async function childOf(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return Number(children.trim().split(" ")[0]);
}

/** Whether a program is there and answers these arguments. */
export const answers = (file: string, args: readonly string[]): Promise<boolean> =>
  run(file, [...args]).then(
    () => true,
    () => false,
  );

/** Takes a free port of loopback. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}
