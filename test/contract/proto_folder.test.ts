import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../rules/tree.ts";

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "postern-proto-"));
});
afterAll(() => rm(base, { recursive: true, force: true }));

type Ended = { readonly code: unknown; readonly stdout: string; readonly stderr: string };

function run(cwd: string, command: readonly string[]): Promise<Ended> {
  const [file = "", ...args] = command;
  return new Promise((resolve) =>
    execFile(file, args, { cwd }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr })),
  );
}

const postern = (cwd: string, ...args: string[]) =>
  run(cwd, [process.execPath, join(root, "src/main.ts"), "proto", ...args]);

const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true })).filter((path) => path.endsWith(".proto")).sort();

test("the contract is written with every file that it imports, and builds there", async () => {
  const { code, stdout } = await postern(base, "contract");
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/files of the contract and \d+ that they import are in contract\n/),
  ]);
  const folder = join(base, "contract");
  expect(await filesIn(folder)).toEqual(await filesIn(join(root, "proto")));
  expect(await readdir(folder)).toEqual(expect.arrayContaining(["LICENSE", "README.md"]));
  const buf = join(root, "node_modules/.bin/buf");
  expect(await run(folder, [buf, "build", "-o", join(base, "contract.binpb")])).toMatchObject({ code: 0, stderr: "" });
});

test("without a name it is the folder proto", async () => {
  const cwd = join(base, "unnamed");
  await mkdir(cwd);
  expect(await postern(cwd)).toMatchObject({ code: 0 });
  expect(await filesIn(join(cwd, "proto"))).toContain("postern/v1/user.proto");
});

test("an earlier contract is replaced, with the files that are gone, and the rest of the folder stays", async () => {
  const folder = join(base, "again");
  await mkdir(join(folder, "postern/v1"), { recursive: true });
  await writeFile(join(folder, "postern/v1/gone.proto"), 'syntax = "proto3";');
  await writeFile(join(folder, "mine.txt"), "mine");
  expect(await postern(base, "again")).toMatchObject({ code: 0 });
  expect(await filesIn(folder)).not.toContain("postern/v1/gone.proto");
  expect(await readFile(join(folder, "mine.txt"), "utf8")).toBe("mine");
});

test("a folder with other things in it is left alone, in one sentence", async () => {
  const folder = join(base, "other");
  await mkdir(folder);
  await writeFile(join(folder, "mine.txt"), "mine");
  expect(await postern(base, "other")).toEqual({
    code: 1,
    stdout: "",
    stderr: "postern: other is not empty and holds no contract: name a new or an empty folder\n",
  });
  expect(await readdir(folder)).toEqual(["mine.txt"]);
});

test("the contract is not written over itself", async () => {
  await cp(join(root, "proto"), join(base, "package/proto"), { recursive: true });
  for (const path of ["src/contract/package_folder.ts", "src/contract/proto_folder.ts"])
    await cp(join(root, path), join(base, "package", path));
  await writeFile(join(base, "package/package.json"), '{ "type": "module" }');
  const { writeProtoFolder } = await import(join(base, "package/src/contract/proto_folder.ts"));
  const folder = join(base, "package/src/../proto");
  const lines = [`${folder} is the contract itself: name another folder`];
  expect(await writeProtoFolder(folder)).toEqual({ ok: false, lines });
  expect(await filesIn(folder)).toEqual(await filesIn(join(root, "proto")));
});

test("a folder that cannot be is refused in one sentence", async () => {
  await writeFile(join(base, "file"), "");
  const { code, stderr } = await postern(base, "file");
  expect(code).toBe(1);
  expect(stderr).toMatch(/^postern: file cannot be written \(.*\): name a folder that this user may write\n$/);
});
