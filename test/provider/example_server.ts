import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import type { Client, Postern } from "../harness.ts";
import { root, textOf } from "../rules/tree.ts";
import { issuerOf } from "./application.ts";

/** An example that serves pages, as its document says to register and to run it. */
export type ExampleServer = AsyncDisposable & {
  readonly origin: string;
  readonly projectId: string;
  readonly appId: string;
  readonly clientId: string;
};

/** Registers and starts an example: on a port that is free, so its URIs are registered once it is known. */
export async function startExample(postern: Postern, name: string): Promise<ExampleServer> {
  const [project, ...others] = bodiesIn(`examples/${name}/README.md`);
  const settings = others.find((body) => body.includes("redirectUris")) ?? "";
  const { projectId } = await created(postern.admin, "/v1/projects", project);
  const role = others.find((body) => body.includes("displayName"));
  if (role) await created(postern.admin, `/v1/projects/${projectId}/roles`, role);
  const app = await created(postern.admin, `/v1/projects/${projectId}/applications/oidc`, settings);
  await using opened = new AsyncDisposableStack();
  const main = join(root, "examples", name, "main.ts");
  const env = { ISSUER: issuerOf(postern), CLIENT_ID: app.clientId, CLIENT_SECRET: app.clientSecret ?? "", PORT: "0" };
  const child = spawn(process.execPath, [main], { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  opened.defer(async () => {
    child.kill();
    await exited;
  });
  const origin = await originIn(child);
  const { redirectUris, postLogoutRedirectUris } = JSON.parse(settings.replaceAll("http://localhost:3000", origin));
  const path = `/v1/projects/${projectId}/applications/${app.appId}/oidc`;
  const changed = await postern.admin.call("PATCH", path, { redirectUris, postLogoutRedirectUris });
  expect([changed.status, changed.body.noneCompliant]).toEqual([200, false]);
  const stack = opened.move();
  return { origin, projectId, ...app, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The bodies that a document sends with curl. */
const bodiesIn = (path: string): string[] =>
  [...textOf(path).matchAll(/-d '(\{.*?\})'/gs)].map(([, body = ""]) => body);

async function created(admin: Client, path: string, body = "") {
  const answer = await admin.post(path, JSON.parse(body));
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
}

/** The address that a server prints once it listens. */
function originIn(child: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = "";
    const onText = (text: string) => {
      out += text;
      const origin = /^Open (\S+)\n/m.exec(out)?.[1];
      if (origin !== undefined) resolve(origin);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onText);
    child.once("close", () => reject(new Error(out)));
  });
}
