import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";

const program = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const key = Buffer.alloc(32, 1).toString("base64");

function main(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) =>
    execFile(process.execPath, [program, ...args], { env, timeout: 20_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

test("--help lists the commands", async () => {
  const { code, stdout } = await main(["--help"]);
  expect(code).toBe(0);
  for (const command of ["serve", "migrate", "bootstrap", "doctor", "health", "recover", "import", "export", "proto"])
    expect(stdout).toContain(`  ${command}`);
});

test("--version is that of the package", async () => {
  expect(await main(["--version"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test.each([
  [["fly"]],
  [["migrate", "--fast"]],
  [["migrate", "--rebuild"]],
  [["recover", "--user"]],
  [["recover", "admin"]],
  [["import"]],
  [["import", "one", "two"]],
  [["export", "file"]],
  [["proto", "one", "two"]],
])("%j is refused in one line, with code 2", async (args) => {
  const { code, stderr } = await main(args);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^postern: .*: try --help\n$/);
});

test("a wrong setting is one line, with code 1 and no stack", async () => {
  expect(await main([], { PORT: "http" })).toEqual({
    code: 1,
    stdout: "",
    stderr: 'postern: PORT must be a whole number from 0 to 65535, not "http"\n',
  });
});

test("a database that is not there is one line, with code 1", async () => {
  const env = { DATABASE_URL: "postgresql://x@127.0.0.1:1/none", POSTERN_MASTER_KEY: key };
  const { code, stderr } = await main(["migrate"], env);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^postern: The database cannot be used \(.*\): check DATABASE_URL.*\n$/);
});

test("health is one line, with code 1 where no node serves", async () => {
  const { code, stderr } = await main(["health"], { PORT: "1" });
  expect([code, stderr]).toEqual([1, "postern: not ready: http://127.0.0.1:1/readyz answers ECONNREFUSED\n"]);
});

test("bin/run takes the machine's Node where npm installed none, if it is new enough", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-run-"));
  await cp(fileURLToPath(new URL("../bin/run", import.meta.url)), join(folder, "bin", "run"));
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const args = [join(folder, "bin", "run"), "node", "-p", "process.execPath"];
  const { stdout } = await promisify(execFile)("sh", args, { env: { PATH: path } });
  expect(stdout).toBe(`${process.execPath}\n`);
  await rm(folder, { recursive: true });
});

test("migrate says what it did", async () => {
  const url = new URL(inject("databaseUrl"));
  url.pathname = "/postern_template";
  const { code, stdout } = await main(["migrate"], { DATABASE_URL: url.href, POSTERN_MASTER_KEY: key });
  expect([code, stdout]).toEqual([0, "the database is up to date\n"]);
});
