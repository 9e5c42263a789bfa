import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { compiled } from "../compiled.ts";
import { program } from "../program.ts";

/** The end of a command. */
export type Ended = { readonly code: number; readonly out: string; readonly err: string };

/** Options of a command that is run. */
export type RunOptions = { readonly env?: Readonly<Record<string, string>>; readonly input?: string };

/** Runs the program to its end; without settings but those that are given. */
export function postern(args: readonly string[], { env = {}, input = "" }: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program, ...args], { env: { ...compiled, ...env } }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
    child.stdin?.end(input);
  });
}

/** A command that runs until it is stopped. */
export type Running = AsyncDisposable & {
  /** The lines of its output so far, as JSON. */
  readonly lines: () => readonly unknown[];
  /** Sends a signal; answers the exit code. */
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
};

/** Starts the program, and keeps its output. */
export function running(args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...compiled, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exited = once(child, "exit");
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const stop = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const [code] = await exited;
    return code as number | null;
  };
  return {
    lines: () =>
      out
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop("SIGKILL")),
  };
}
