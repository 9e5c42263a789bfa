import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { newToken } from "../../src/security/token.ts";
import { found } from "../clients/toolchains.ts";
import { freshDatabase } from "../database.ts";
import { fastFolder } from "../fast_folder.ts";
import { eventually, type NodeOptions, nodeEnv, readyStatus, startNode } from "../first_start.ts";
import { clientOf } from "../harness.ts";
import { program } from "../program.ts";
import { freePort } from "../wire/free_port.ts";

const run = promisify(execFile);

async function folder(name = "data") {
  const base = await fastFolder("postern-files-");
  const path = join(base, name);
  return {
    ...{ path, passwordFile: join(path, "admin-password") },
    secret: async (file: string) => (await readFile(join(path, file), "utf8")).trim(),
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}

async function startReady(options: NodeOptions) {
  const node = await startNode(options);
  await eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");
  return node;
}

const removed = "admin-password: the password of the administrator was changed";

/** The labelled calls in a text, and the comments in place of calls; lines of the log are passed over. */
const blocksIn = (text: string) =>
  text
    .replaceAll(/^\{.*\n/gm, "")
    .split("\n\n")
    .map((block) => block.trim())
    .filter((block) => block.startsWith("# "));
const isCall = (block: string) => /^# \d\. [^:]+\ncurl /.test(block);

/** The blocks that `bootstrap` prints to begin with. */
async function printed(options: NodeOptions): Promise<string[]> {
  const { stdout } = await run(process.execPath, [program, "bootstrap"], { env: nodeEnv(options) });
  return blocksIn(stdout);
}

/** Runs a block as if it were pasted into a shell; answers the body that came back. */
async function paste(block: string, env: Readonly<Record<string, string>> = {}) {
  const path = { PATH: process.env.PATH ?? "" };
  const { stdout } = await run("sh", ["-c", block.replace(/^curl /m, "curl -sS --fail-with-body ")], {
    env: { ...path, ...env },
  });
  return stdout === "" ? undefined : JSON.parse(stdout);
}

const signsIn = async (url: string, password: string) =>
  (await clientOf(url).post("/v1/sessions", { loginName: "admin", password })).status === 200;

const change = async (url: string, token: string, oldPassword: string) => {
  const newPassword = `${oldPassword}-3`;
  const changed = await clientOf(url, token).put("/v1/users/me/password", { oldPassword, newPassword });
  expect(changed.status).toBe(200);
};

test.skipIf(!found("curl"))(
  "the printed calls work as pasted, in order, and the first one ends the first password and its file",
  async () => {
    await using data = await folder("it's here");
    // With the embedded database, as a first start without settings has it.
    const options = { databaseUrl: "", dataDir: data.path, port: await freePort() };
    await using node = await startReady(options);
    const lines = await eventually(
      () => (blocksIn(node.output()).length === 5 ? blocksIn(node.output()) : undefined),
      "the lines",
    );
    expect(await printed(options)).toEqual(lines);
    const first = await data.secret("admin-password");
    const [askForPassword = "", changePassword = "", ...others] = lines;
    const typed = 'Blue "Kettle" \\42 $HOME';
    const shell = run("sh", ["-c", `${askForPassword}; printf %s "$NEW_PASSWORD"`]);
    shell.child.stdin?.end(`${typed}\n`);
    expect((await shell).stdout).toBe(`New password: \n${typed}`);
    expect(await paste(changePassword, { NEW_PASSWORD: typed })).toMatchObject({ details: { sequence: "3" } });
    await eventually(() => !existsSync(data.passwordFile) || undefined, "the removal of the file");
    await eventually(() => node.output().includes(removed) || undefined, "the line of the log");
    expect([await signsIn(node.url, first), await signsIn(node.url, typed)]).toEqual([false, true]);
    for (const line of others) expect(await paste(line)).toMatchObject({ details: {} });

    const [askForBoth = "", changeAgain = "", ...again] = await printed(options);
    expect(again.filter(isCall)).toHaveLength(2);
    expect(again[2]).toMatch(/^# 4\. .*: the user already has roles in the project \w+$/);
    for (const line of again.slice(0, 2)) expect(await paste(line)).toMatchObject({ details: {} });
    const both = run("sh", ["-c", `${askForBoth}; printf '%s, %s' "$OLD_PASSWORD" "$NEW_PASSWORD"`]);
    both.child.stdin?.end(`${typed}\nBlue-Kettle-42\n`);
    expect((await both).stdout).toBe(`Present password: \nNew password: \n${typed}, Blue-Kettle-42`);
    const passwords = { OLD_PASSWORD: typed, NEW_PASSWORD: "Blue-Kettle-42" };
    expect(await paste(changeAgain, passwords)).toMatchObject({ details: {} });
    expect(await signsIn(node.url, "Blue-Kettle-42")).toBe(true);
  },
);

test("the file goes when the password is changed on another node, and when the node was down meanwhile", async () => {
  for (const isDown of [false, true]) {
    await using database = await freshDatabase();
    await using data = await folder();
    await using otherData = await folder();
    const options = { databaseUrl: database.url, dataDir: data.path };
    const node = await startReady(options);
    await using second = await startReady({ ...options, dataDir: otherData.path });
    const [token, password] = [await data.secret("admin-token"), await data.secret("admin-password")];
    if (isDown) await node[Symbol.asyncDispose]();
    await change(second.url, token, password);
    await using running = isDown ? await startReady(options) : node;
    await eventually(() => !existsSync(data.passwordFile) || undefined, "the removal of the file");
    await eventually(() => running.output().includes(removed) || undefined, "the line of the log");
    expect(existsSync(join(data.path, "admin-token"))).toBe(true);
  }
});

test("a node on another database leaves the file alone, and says that it is not of that one", async () => {
  await using database = await freshDatabase();
  await using another = await freshDatabase();
  await using data = await folder();
  await using otherData = await folder();
  const first = await startReady({ databaseUrl: database.url, dataDir: data.path });
  await first[Symbol.asyncDispose]();
  await using second = await startReady({ databaseUrl: another.url, dataDir: otherData.path });
  await using node = await startReady({ databaseUrl: another.url, dataDir: data.path });
  const notOurs = "admin-password is not the password of the administrator in this database";
  await eventually(() => node.output().includes(notOurs) || undefined, "the sentence");
  await change(second.url, await otherData.secret("admin-token"), await otherData.secret("admin-password"));
  await eventually(() => !existsSync(otherData.passwordFile) || undefined, "the removal of the other file");
  expect(existsSync(data.passwordFile)).toBe(true);
});

test("without a token that is in force, bootstrap prints one sentence instead of calls that fail", async () => {
  await using database = await freshDatabase();
  await using data = await folder();
  const options = { databaseUrl: database.url, dataDir: data.path };
  const notRunning = expect.stringMatching(/^# nothing responds at http:\/\/localhost:0: start the service/);
  const first = await printed({ ...options, adminToken: newToken("pt") });
  expect([first.filter(isCall).length, first[5]]).toEqual([4, notRunning]);
  expect(await printed({ ...options, adminToken: newToken("pt") })).toEqual([
    "# POSTERN_ADMIN_TOKEN is not the token of a user of this instance: use an administrator's token, or create one with `postern recover`",
    notRunning,
  ]);
  expect(await printed(options)).toEqual([
    expect.stringMatching(/^# .*\/admin-token is not the token of a user/),
    notRunning,
  ]);
});
