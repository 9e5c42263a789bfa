import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { root } from "../../rules/tree.ts";
import { type Application, issuerOf } from "../application.ts";
import { approve, deviceApplication, untilConfirmation } from "../device_flow.ts";

let postern: Postern;
let folder: string;
let app: Application;
beforeAll(async () => {
  postern = await startPostern({ devicePollSeconds: 1 });
  folder = await mkdtemp(join(tmpdir(), "postern-tool-"));
  app = await deviceApplication(postern.admin);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await postern?.[Symbol.asyncDispose]();
});

/** Runs the tool of the example; answers what it printed once it shows a code, and its end. */
function run(command: string) {
  const env = { ISSUER: issuerOf(postern), CLIENT_ID: app.clientId, TOKEN_FILE: join(folder, "token") };
  const child = spawn(process.execPath, [join(root, "examples/device/main.js"), command], {
    env: { ...process.env, ...env },
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
  const ended = once(child, "close").then(([code]) => ({ code: code as number, out }));
  const shown = new Promise<string>((resolve) => {
    child.stdout.on("data", () => {
      const code = /user_code=(\S+)\n/.exec(out)?.[1];
      if (code !== undefined) resolve(code);
    });
    void ended.then(({ out }) => resolve(out));
  });
  return { ended, shown };
}

const codesOf = (user_code: string) => ({ user_code, device_code: "", verification_uri: "" });

test("the example of a command line tool signs in, stays signed in, and signs out", async () => {
  const person = await signedUp(postern);
  const login = run("login");
  await approve(issuerOf(postern), codesOf(await login.shown), person);
  const signedIn = await login.ended;
  expect(signedIn).toEqual({ code: 0, out: expect.stringContaining(`Signed in as ${person.username}\n`) });
  expect(signedIn.out).toContain(`Open ${issuerOf(postern)}/device on any device and enter `);
  expect((await stat(join(folder, "token"))).mode & 0o777).toBe(0o600);
  for (let n = 0; n < 2; n++)
    expect(await run("whoami").ended).toEqual({ code: 0, out: `Signed in as ${person.username}\n` });
  expect(await run("logout").ended).toEqual({ code: 0, out: "Signed out\n" });
  expect(await run("whoami").ended).toEqual({ code: 1, out: "nobody is signed in: run login first\n" });
});

test("the example says so when its user cancels", async () => {
  const login = run("login");
  const { browser, page } = await untilConfirmation(
    issuerOf(postern),
    codesOf(await login.shown),
    await signedUp(postern),
  );
  await browser.submit(page, {}, "cancel");
  expect(await login.ended).toEqual({ code: 1, out: expect.stringContaining("The sign-in was cancelled") });
});
