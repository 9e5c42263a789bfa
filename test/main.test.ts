import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { compiled } from "./compiled.ts";
import { freshDatabase } from "./database.ts";
import { ask } from "./postgres/embedded/holder.ts";

const program = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const key = Buffer.alloc(32, 1).toString("base64");

function main(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) =>
    execFile(
      process.execPath,
      [program, ...args],
      { env: { ...compiled, ...env }, timeout: 120_000 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

test("--help is a page of the manual that lists the commands and the exit codes", async () => {
  const { code, stdout } = await main(["--help"]);
  expect(code).toBe(0);
  for (const command of [
    "serve",
    "migrate",
    "bootstrap",
    "doctor",
    "health",
    "recover",
    "import",
    "export",
    "proto",
    "version",
    "help",
  ])
    expect(stdout).toMatch(new RegExp(`^  ${command} +\\w`, "m"));
  for (const heading of ["NAME", "SYNOPSIS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"])
    expect(stdout.split("\n")).toContain(heading);
  expect(stdout.split("\n").filter((line) => line.length > 100)).toEqual([]);
  expect(await main(["help"])).toEqual(await main(["-h"]));
});

test("each command has a page of its own, by help and by --help", async () => {
  const page = await main(["help", "import"]);
  expect(page).toMatchObject({ code: 0, stdout: expect.stringContaining("  postern import [OPTION...] FILE\n") });
  expect(page.stdout).toContain("  --from FORM ");
  expect(await main(["import", "--help"])).toEqual(page);
});

test("version is that of the package", async () => {
  const shown = { code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) };
  expect([await main(["version"]), await main(["--version"])]).toMatchObject([shown, shown]);
});

test.each([
  [["fly"], "There is no command fly: try postern help"],
  [["help", "fly"], "There is no command fly: try postern help help"],
  [["migrate", "--fast"], "Unknown option '--fast': try postern help migrate"],
  [["migrate", "--rebuild"], "Unknown option '--rebuild': try postern help migrate"],
  [["recover", "--user"], "Option '--user <value>' argument missing: try postern help recover"],
  [["recover", "admin"], 'Unexpected argument "admin": try postern help recover'],
  [["import"], "FILE is missing: try postern help import"],
  [["import", "one", "two"], 'Unexpected argument "two": try postern help import'],
  [["proto", "one", "two"], 'Unexpected argument "two": try postern help proto'],
  [["export", "file"], 'Unexpected argument "file": try postern help export'],
])("%j is refused in one line, with code 2", async (args, sentence) => {
  expect(await main(args)).toEqual({ code: 2, stdout: "", stderr: `postern: ${sentence}\n` });
});

test("a wrong setting is one line, with code 1 and no stack", async () => {
  expect(await main([], { PORT: "http" })).toEqual({
    code: 1,
    stdout: "",
    stderr: 'postern: PORT must be a whole number from 0 to 65535, not "http"\n',
  });
});

test("a name that is nearly a setting, or begins like one, is warned about", async () => {
  const env = { POSTERN_PORT: "80", DATABSE_URL: "x", POSTERN_TEMPO: "high", PORT: "http" };
  const { stderr } = await main([], { ...env, POSTERN_SERVICE_HOST: "10.0.0.1", HOSTS: "x", SSL_CERT_FILE: "/x" });
  const { stderr: warned } = await main(["export"], { ...env, PORT: "1", DATABSE_URL: "x" });
  expect(stderr.split("\n")).toHaveLength(2);
  expect(warned.split("\n").slice(0, 3).sort()).toEqual([
    "postern: DATABSE_URL is not a setting and has no effect: did you mean DATABASE_URL?",
    "postern: POSTERN_PORT is not a setting and has no effect: did you mean PORT?",
    "postern: POSTERN_TEMPO is not a setting and has no effect",
  ]);
});

test("a database that is not there is one line, with code 1", async () => {
  const env = { DATABASE_URL: "postgresql://x@127.0.0.1:1/none", POSTERN_MASTER_KEY: key };
  const { code, stderr } = await main(["migrate"], env);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^postern: The database cannot be used \(.*\): check DATABASE_URL.*\n$/);
});

test("health is one line, with code 1 where no node serves", async () => {
  const { code, stderr } = await main(["health"], { PORT: "1" });
  expect([code, stderr]).toEqual([1, "postern: not ready: http://127.0.0.1:1/readyz: ECONNREFUSED\n"]);
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

test("migrate numbers the events that a release without numbers wrote", async () => {
  await using database = await freshDatabase();
  await ask(
    database.url,
    `insert into events (owner, stream, version, type, payload, request_id, time)
     select 'owner', 'stream' || n, 1, 'member.removed', '{}', 'request', now() from generate_series(1, 6000) n`,
  );
  expect((await main(["migrate"], { DATABASE_URL: database.url, POSTERN_MASTER_KEY: key })).code).toBe(0);
  const numbered = "select count(*)::integer from event_numbers join events using (position) where owner = 'owner'";
  expect(await ask(database.url, numbered)).toEqual([{ count: 6_000 }]);
});
