import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, readyStatus } from "../../first_start.ts";
import { freePort } from "../../wire/free_port.ts";
import { found } from "../toolchains.ts";
import { type Installed, installed } from "./installed.ts";

const execute = promisify(execFile);

let postern: Installed;
beforeAll(async () => {
  postern = await installed("20");
}, 600_000);
afterAll(() => postern?.[Symbol.asyncDispose]());

const shell = (command: string) => execute("sh", ["-c", command], { cwd: postern.folder, env: postern.env });
const program = (args: string) => shell(`npx --no-install postern ${args}`);

test("the shell has an old Node, and the program has its own", async () => {
  expect((await shell("node --version")).stdout).toMatch(/^v20\./);
  expect((await program("version")).stdout.trim()).toBe(postern.manifest.version);
  expect((await program("help call")).stdout).toContain("postern call [OPTION...]");
});

test.skipIf(!found("curl"))("an empty folder serves the four calls, as they are printed", async () => {
  const port = await freePort();
  const env = { ...postern.env, PORT: String(port) };
  const child = spawn(join("node_modules", ".bin", "postern"), [], {
    ...{ cwd: postern.folder, env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await eventually(async () => (await readyStatus(url)) === 200 || undefined, "readiness");
    const calls = await eventually(() => {
      const blocks = output.split("\n\n").filter((block) => /^# \d\. /.test(block));
      return blocks.length === 4 ? blocks : undefined;
    }, "the calls");
    for (const call of calls) {
      const { stdout } = await shell(call.replace(/^curl /m, "curl --silent --show-error --fail-with-body "));
      expect(JSON.parse(stdout), call).toMatchObject({ details: expect.anything() });
    }
    expect((await fetch(`${url}/docs`)).status).toBe(200);
    const me = await shell(`PORT=${port} npx --no-install postern call UserService/GetUser '{"userId": "me"}' -p grpc`);
    expect(JSON.parse(me.stdout)).toMatchObject({ user: { username: "admin" } });
  } finally {
    child.kill("SIGINT");
  }
  expect((await exited)[0]).toBe(0);
});

test("the archive holds JavaScript with the gateway, the migrations and the pages, and no TypeScript", () => {
  const { packed } = postern;
  for (const path of [
    "package/bin/postern",
    "package/dist/src/main.js",
    "package/dist/packages/gateway/src/gateway.js",
    "package/dist/packages/gateway/src/services/docs/page.css",
    "package/dist/gen/postern/v1/user_pb.js",
    "package/docs/operations.md",
    "package/LICENSE",
  ])
    expect(packed).toContain(path);
  expect(packed.filter((path) => path.endsWith(".sql")).length).toBeGreaterThan(10);
  expect(packed.filter((path) => path.endsWith(".ts") || /\/(test|bench|node_modules)\//.test(path))).toEqual([]);
});

test("its manifest pins what was tested, may be published, and leaves the repository as it was", () => {
  const { manifest, isRestored } = postern;
  for (const name of ["private", "workspaces", "devDependencies"]) expect(manifest).not.toHaveProperty(name);
  const versions = Object.values({
    ...(manifest.dependencies as object),
    ...(manifest.optionalDependencies as object),
  });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))).toEqual([]);
  expect(versions.length).toBeGreaterThan(10);
  expect(isRestored).toBe(true);
});
