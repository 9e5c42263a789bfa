import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
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

/** Starts the program in the folder, and waits until it is ready; ends it by SIGINT, and tells the code. */
async function started(more: NodeJS.ProcessEnv = {}) {
  const port = await freePort();
  const env = { ...postern.env, ...more, PORT: String(port) };
  const child = spawn(join("node_modules", ".bin", "postern"), [], {
    ...{ cwd: postern.folder, env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => (await readyStatus(url)) === 200 || undefined, "readiness");
  return {
    url,
    output: () => output,
    command: (args: string) => shell(`PORT=${port} node_modules/.bin/postern ${args}`),
    async end() {
      child.kill("SIGINT");
      return (await exited)[0];
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGTERM");
      await exited;
    },
  };
}

test.skipIf(!found("curl"))("an empty folder serves the four calls, as they are printed", async () => {
  await using node = await started();
  const calls = await eventually(() => {
    const blocks = node
      .output()
      .split("\n\n")
      .filter((block) => /^# \d\. /.test(block));
    return blocks.length === 4 ? blocks : undefined;
  }, "the calls");
  for (const call of calls) {
    const quiet = call.replace(/^curl /m, "curl --silent --show-error --fail-with-body ");
    const { stdout } = await shell(`NEW_PASSWORD=Blue-Kettle-42\n${quiet}`);
    expect(JSON.parse(stdout), call).toMatchObject({ details: expect.anything() });
  }
  expect(await node.end()).toBe(0);
});

test("two workers answer through every door, and serve what is loaded with its first use", async () => {
  await using node = await started({ WORKERS: "2" });
  for (const protocol of ["connect", "grpc", "grpc-web", "rest"]) {
    const { stdout } = await node.command(`call UserService/GetUser '{"userId": "me"}' -p ${protocol}`);
    expect(JSON.parse(stdout), protocol).toMatchObject({ user: { username: "admin" } });
  }
  const human = { username: "ada", givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  const create = `call UserService/CreateHumanUser '${JSON.stringify({ ...human, password: "Football-1" })}' --json`;
  const refusal = await node.command(create).then(
    () => undefined,
    ({ stderr }: { stderr: string }) => stderr,
  );
  expect(refusal).toContain("PASSWORD_TOO_COMMON");
  for (const [path, part] of [
    ["/console/", 'data-version="0.1.0"'],
    ["/docs", "<html"],
    ["/docs/browser.js", "fetch("],
    ["/openapi.json", '"openapi"'],
    ["/device", "/sign-in/style.css"],
    ["/sign-in/style.css", "font-family"],
    ["/sign-in/page.js", "navigator.credentials"],
  ] as const) {
    const answer = await fetch(node.url + path);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(await answer.text()).toContain(part);
  }
  expect(await node.end()).toBe(0);
});

test("commands work beside it", async () => {
  await using node = await started();
  for (const command of ["doctor", "migrate", "bootstrap", "recover", "health"]) await node.command(command);
  await node.command("export >lines");
  await node.command("import lines");
  expect((await node.command("proto contract")).stdout).toContain("files of the contract");
  expect(await node.end()).toBe(0);
});

test("every package that is beside the program is there", async () => {
  const names = Object.keys(postern.manifest.dependencies as object);
  const code = `for (const name of ${JSON.stringify(names)}) import.meta.resolve(name)`;
  await shell(`cd node_modules/postern && sh bin/run node --input-type=module --eval '${code}'`);
});

test("the archive holds JavaScript, the migrations, the pages and the licences of others, and neither TypeScript nor tests", async () => {
  const { packed } = postern;
  for (const path of [
    "package/bin/postern",
    "package/dist/console/index.html",
    "package/dist/main.js",
    "package/dist/packages/gateway/src/services/docs/page.css",
    "package/dist/src/provider/pages/page.css",
    "package/dist/third_party/@bufbuild/protobuf/NOTICE",
    "package/dist/third_party/jose/package.json",
    "package/docs/operations.md",
    "package/LICENSE",
  ])
    expect(packed).toContain(path);
  expect(packed.filter((path) => path.endsWith(".sql")).length).toBeGreaterThan(10);
  expect(packed.filter((path) => /\.ts$|\/(test|bench|node_modules)\//.test(path))).toEqual([]);
  const built = join(postern.folder, "node_modules", "postern", "dist");
  for (const name of (await readdir(built)).filter((name) => name.endsWith(".js")))
    expect(await readFile(join(built, name), "utf8"), name).not.toMatch(/^\/\/(#region)? (test|bench)\//m);
});

test("its manifest pins what was tested, may be published, and leaves the repository as it was", () => {
  const { manifest, isRestored } = postern;
  for (const name of ["private", "workspaces", "devDependencies"]) expect(manifest).not.toHaveProperty(name);
  const versions = Object.values({
    ...(manifest.dependencies as object),
    ...(manifest.optionalDependencies as object),
  });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))).toEqual([]);
  expect(versions.length).toBeGreaterThan(5);
  expect(manifest.dependencies).not.toHaveProperty("postgres");
  expect(isRestored).toBe(true);
});
