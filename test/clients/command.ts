import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import type { JsonObject } from "@bufbuild/protobuf";
import type { OpenStream } from "./client.ts";

/** A command and its arguments. */
export type Command = readonly [command: string, ...more: string[]];

/** The end of a command. */
export type Ended = { readonly code: number; readonly out: string; readonly err: string };

/** Runs a command to its end, whatever that is. */
export function ended([command, ...more]: Command, { cwd = ".", env = {} } = {}): Promise<Ended> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 << 20 };
  return new Promise((resolve, reject) => {
    execFile(command, more, options, (error, out, err) => {
      if (error && typeof error.code !== "number") reject(error);
      else resolve({ code: Number(error?.code ?? 0), out, err });
    });
  });
}

/** Runs a command that prints messages until it is disposed. */
export function printing([command, ...more]: Command, messagesIn: (out: string) => JsonObject[]): OpenStream {
  const child = spawn(command, more, { stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(child, "exit");
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  return {
    received: async () => messagesIn(out),
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
