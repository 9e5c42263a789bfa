import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A server in a process of its own. */
export type Served = AsyncDisposable & {
  readonly url: string;
  readonly child: ChildProcess;
  /** Returns the usage of the process until now; "collect" collects garbage first. */
  readonly usage: (how?: "collect") => Promise<Usage>;
};

/** Environment, arguments, options of Node and output of a server. */
export type ServeOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly nodeOptions?: readonly string[];
  readonly output?: "inherit" | "ignore" | "pipe";
};

/** The CPU of a process in microseconds, its resident memory, and the part held by objects and buffers, in bytes. */
export type Usage = { readonly cpu: number; readonly rss: number; readonly held: number };

type Message = { readonly url?: string; readonly usage?: Usage };

/** Starts a program that tells where it listens, and waits until it does. */
export async function serve(
  program: URL,
  { env = {}, args = [], nodeOptions = [], output = "inherit" }: ServeOptions = {},
): Promise<Served> {
  const child = fork(fileURLToPath(program), [...args], {
    execArgv: [...process.execArgv, ...nodeOptions, "--expose-gc"],
    env: { ...ownEnv(), ...env },
    stdio: ["ignore", output, output, "ipc"],
  });
  const { url = "" } = await messageFrom(child);
  return {
    url,
    child,
    async usage(how) {
      const answer = messageFrom(child);
      child.send(how ?? "look");
      return (await answer).usage ?? { cpu: 0, rss: 0, held: 0 };
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    },
  };
}

async function messageFrom(child: ChildProcess): Promise<Message> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, "exit", { signal }).then(() =>
    Promise.reject(new Error("a server of the benchmark ended")),
  );
  const [message] = await Promise.race([once(child, "message", { signal }), ended]);
  over.abort();
  ended.catch(() => {});
  return message as Message;
}

function ownEnv() {
  return { PATH: dirOf(process.execPath), HOME: tmpdir() };
}

const dirOf = (path: string) => `${join(path, "..")}:/usr/local/bin:/usr/bin:/bin`;
