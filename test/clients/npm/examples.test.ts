import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../../harness.ts";
import { issuerOf } from "../../provider/application.ts";
import { deviceApplication } from "../../provider/device_flow.ts";
import { startExample } from "../../provider/example_server.ts";
import { root, textOf } from "../../rules/tree.ts";
import { nodeOf } from "./installed.ts";

const opened = new AsyncDisposableStack();
let postern: Postern;
let node: string;
beforeAll(async () => {
  const base = await mkdtemp(join(tmpdir(), "postern-old-node-"));
  opened.defer(() => rm(base, { recursive: true, force: true }));
  node = join(await nodeOf("20", base), "node");
  postern = opened.use(await startPostern());
}, 300_000);
afterAll(() => opened.disposeAsync());

test("the examples promise the Node that installs Postern", () => {
  const { engines } = JSON.parse(textOf("package.json"));
  for (const name of ["agent", "device", "single-page", "web-server"]) {
    expect(JSON.parse(textOf(`examples/${name}/package.json`)).engines.node, name).toBe(engines.node);
    expect(textOf(`examples/${name}/README.md`), name).toContain(`Node ${engines.node.slice(2)} or newer`);
  }
});

test.each(["web-server", "single-page"])("on the oldest of them, the example of a %s shows its page", async (name) => {
  await using example = await startExample(postern, name, node);
  const page = await fetch(example.origin);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<h1>")]);
});

test("and that of a command line tool gets a code", async () => {
  const { clientId } = await deviceApplication(postern.admin);
  const env = { ...process.env, ISSUER: issuerOf(postern), CLIENT_ID: clientId };
  const tool = promisify(execFile)(node, [join(root, "examples/device/main.js"), "login"], { env });
  const code = new Promise((resolve) => {
    tool.child.stdout?.on("data", resolve);
  });
  expect(await Promise.race([code, tool.then(() => "ended")])).toMatch(/^Open .*\/device on any device and enter /);
  tool.child.kill();
  await tool.catch(() => undefined);
});
