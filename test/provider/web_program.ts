import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import type { Client } from "../harness.ts";

/** A program that serves pages on a free port. */
export type WebProgram = AsyncDisposable & { readonly origin: string };

/** A program as a command, with its folder and its environment. */
export type Started = {
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  /** The line that says its origin. */
  readonly line?: RegExp;
};

const opens = /^Open (\S+)\n/m;

/** Starts a program, and waits until it prints `Open <origin>`, or a line of its own. */
export async function startWebProgram({ command, cwd = ".", env, line = opens }: Started): Promise<WebProgram> {
  const [file, ...more] = command;
  const child = spawn(file, more, { cwd, env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  await using opened = new AsyncDisposableStack();
  opened.defer(async () => {
    child.kill();
    await exited;
  });
  const origin = await originIn(child, line);
  const stack = opened.move();
  return { origin, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function originIn(child: ChildProcessWithoutNullStreams, line: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = "";
    const onText = (text: string) => {
      out += text;
      const origin = line.exec(out)?.[1];
      if (origin !== undefined) resolve(origin);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onText);
    child.once("close", () => reject(new Error(out)));
  });
}

/** The URIs of an application, which depend on the port that its program got. */
export type Uris = {
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris?: readonly string[];
  readonly backChannelLogoutUri?: string;
};

/** Registers the URIs of an application once its program listens. */
export async function registerUris(admin: Client, app: { projectId: string; appId: string }, uris: Uris) {
  const changed = await admin.call("PATCH", `/v1/projects/${app.projectId}/applications/${app.appId}/oidc`, uris);
  expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ noneCompliant: false })]);
}
