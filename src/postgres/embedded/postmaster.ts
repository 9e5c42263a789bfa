import { type ChildProcess, spawn } from "node:child_process";
import { readdir, readFile, readlink, unlink } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../failure.ts";
import type { ProcessLog } from "../process_log.ts";
import { ignore } from "./database_home.ts";
import { type Account, run, surroundings } from "./run.ts";

export type Launch = Readonly<{
  account: Account;
  bin: string;
  data: string;
  sockets: string;
  settings: Readonly<Record<string, string>>;
  log: ProcessLog;
  signal: AbortSignal;
}>;

/** A running PostgreSQL server, as a child of this process. */
export type Postmaster = Readonly<{ pid: number; exited: Promise<string>; stop: () => Promise<void> }>;

/** Starts the server on its data folder and waits until it responds. */
export async function launch(options: Launch): Promise<Postmaster> {
  const child = await start(options);
  const lastLines: string[] = [];
  listen(child, options.log, lastLines);
  const exited = new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`)),
  );
  const pid = child.pid ?? 0;
  const end = await Promise.race([exited, ready(options, pid)]);
  if (end !== true) throw new StartError(`PostgreSQL did not start (${end}): ${lastLines.join("; ")}`);
  return { pid, exited, stop: () => stop(child, exited) };
}

async function start(options: Launch): Promise<ChildProcess> {
  const { account, bin, data, sockets, settings } = options;
  const server = [join(bin, "postgres"), "-D", data, "-k", sockets];
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const tether = ["setpriv", "--pdeathsig=INT", "--"];
  const tethered = (await run(account, "setpriv", ["--pdeathsig=INT", "--", "/bin/sh", "-c", ":"])).ok;
  const [program = "", ...rest] = [...(tethered ? tether : []), ...server, ...args];
  // The server has its own process group: Ctrl-C in a terminal must only reach us, because we need the database to shut down.
  const child = spawn(program, rest, { ...surroundings(account), stdio: ["ignore", "ignore", "pipe"], detached: true });
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  if (!tethered) stopWithUs(child, account);
  return child;
}

/** Ends the child when this process dies, using a shell that waits for the end of a pipe. For systems without setpriv. */
export function stopWithUs(child: ChildProcess, account: Account): void {
  const script = 'read -r _; kill -INT "$1"';
  const args = ["-c", script, "sh", String(child.pid)];
  const guard = spawn("/bin/sh", args, {
    ...surroundings(account),
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.on("error", () => {}).unref();
  child.once("exit", () => guard.kill("SIGKILL"));
}

function listen(child: ChildProcess, log: ProcessLog, lastLines: string[]): void {
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    for (const line of chunk.split("\n").filter(Boolean)) {
      lastLines.push(line);
      lastLines.splice(0, lastLines.length - 8);
      log.debug({ postgres: line }, "postgres");
    }
  });
}

async function ready({ data, signal, log }: Launch, pid: number): Promise<true> {
  const began = Date.now();
  for (let slow = false; ; await sleep(10)) {
    const [first, , , , , , , status] = await pidFile(data);
    if (Number(first) === pid && status?.trim() === "ready") return true;
    if (!isRunning(pid)) await new Promise(() => {});
    if (signal.aborted) process.kill(pid, "SIGINT");
    if (!slow && Date.now() - began > 5_000) {
      slow = true;
      log.warn({}, "postgres is recovering; this can take minutes after a crash");
    }
  }
}

async function stop(child: ChildProcess, exited: Promise<string>): Promise<void> {
  for (const [signal, graceMs] of [
    ["SIGINT", 15_000],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    if (await settled(exited, graceMs)) return;
  }
}

async function settled(exited: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const timer = new AbortController();
  const late = sleep(timeoutMs, false, { signal: timer.signal }).catch(() => false);
  const done = await Promise.race([exited.then(() => true), late]);
  timer.abort();
  return done;
}

/** Finds the socket folder of the server that is running on the data folder, if one responds. */
export async function runningSockets(data: string): Promise<string | undefined> {
  const [pid, , , , sockets, , , status] = await pidFile(data);
  if (status?.trim() !== "ready" || !sockets) return undefined;
  return (await residents(data)).includes(Number(pid)) ? sockets : undefined;
}

/** Ends the processes that a killed process left on the data folder and its sockets; the caller holds the lock on both. */
export async function clearLeftovers({ data, sockets, log }: Pick<Launch, "data" | "sockets" | "log">): Promise<void> {
  for (let waited = 0; ; waited += 20) {
    const left = await residents(data);
    if (left.length === 0) break;
    if (waited === 0) log.warn({ pids: left }, "stopping the postgres of a process that was killed");
    if (waited === 0) await signalAll(await postmasterOf(left, data), "SIGINT");
    // Without their postmaster, the other processes are useless and keep a new one from starting.
    if (waited >= 15_000 || (waited >= 2_000 && (await postmasterOf(left, data)).length === 0))
      await signalAll(left, "SIGKILL");
    await sleep(20);
  }
  await removeReused(data);
  for (const file of await readdir(sockets)) await unlink(join(sockets, file));
}

// A pid file whose number now belongs to another process, or to a zombie, would keep PostgreSQL from starting.
async function removeReused(data: string): Promise<void> {
  const [pid] = await pidFile(data);
  if (pid && isRunning(Number(pid))) await unlink(join(data, "postmaster.pid"));
}

async function postmasterOf(left: readonly number[], data: string): Promise<number[]> {
  const [pid] = await pidFile(data);
  return left.filter((one) => one === Number(pid));
}

async function signalAll(pids: readonly number[], signal: NodeJS.Signals): Promise<void> {
  for (const pid of pids) if (isRunning(pid)) process.kill(pid, signal);
}

/** Finds the PostgreSQL processes running in the data folder, whoever started them. */
export async function residents(data: string): Promise<number[]> {
  if (platform() !== "linux") return listedResidents(data);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => worksIn(pid, data)));
  return pids.filter((_, index) => found[index]).map(Number);
}

async function worksIn(pid: string, data: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => "");
  if (cwd !== data) return false;
  return /\/postgres( \(deleted\))?$/.test(await readlink(`/proc/${pid}/exe`).catch(() => ""));
}

// Without /proc, only the postmaster can be recognized, by its command line; its children exit by themselves.
async function listedResidents(data: string): Promise<number[]> {
  const [pid] = await pidFile(data);
  if (!pid) return [];
  const { output } = await run({ name: "", uid: 0, gid: 0, isSelf: true }, "ps", ["-o", "command=", "-p", pid]);
  return output.includes(`postgres -D ${data} `) ? [Number(pid)] : [];
}

async function pidFile(data: string): Promise<string[]> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(ignore("ENOENT"));
  return (text ?? "").split("\n");
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
