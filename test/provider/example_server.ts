import { join } from "node:path";
import { expect } from "vitest";
import type { Client, Postern } from "../harness.ts";
import { root, textOf } from "../rules/tree.ts";
import { issuerOf } from "./application.ts";
import { registerUris, startWebProgram, type WebProgram } from "./web_program.ts";

/** An example that serves pages, as its document says to register and to run it. */
export type ExampleServer = WebProgram & {
  readonly projectId: string;
  readonly appId: string;
  readonly clientId: string;
};

/** Registers and starts an example: on a port that is free, so its URIs are registered once it is known. */
export async function startExample(
  postern: Postern,
  name: string,
  node: string = process.execPath,
): Promise<ExampleServer> {
  const [project, ...others] = bodiesIn(`examples/${name}/README.md`);
  const settings = others.find((body) => body.includes("redirectUris")) ?? "";
  const { projectId } = await created(postern.admin, "/v1/projects", project);
  const role = others.find((body) => body.includes("displayName"));
  if (role) await created(postern.admin, `/v1/projects/${projectId}/roles`, role);
  const app = await created(postern.admin, `/v1/projects/${projectId}/applications/oidc`, settings);
  const { appId, clientId, clientSecret = "" } = app;
  await using opened = new AsyncDisposableStack();
  const command = [node, join(root, "examples", name, "main.js")] as const;
  const env = { ISSUER: issuerOf(postern), CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, PORT: "0" };
  const { origin } = opened.use(await startWebProgram({ command, env }));
  const { redirectUris, postLogoutRedirectUris } = JSON.parse(settings.replaceAll("http://localhost:3000", origin));
  await registerUris(postern.admin, { projectId, appId }, { redirectUris, postLogoutRedirectUris });
  const stack = opened.move();
  return { origin, projectId, appId, clientId, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The bodies that a document sends with curl. */
const bodiesIn = (path: string): string[] =>
  [...textOf(path).matchAll(/-d '(\{.*?\})'/gs)].map(([, body = ""]) => body);

async function created(admin: Client, path: string, body = "") {
  const answer = await admin.post(path, JSON.parse(body));
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
}
