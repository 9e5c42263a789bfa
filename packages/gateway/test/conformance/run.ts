import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const version = "v1.0.6";
const module = `connectrpc.com/conformance@${version}`;

/** Runs the official suite of Connect against the gateway; returns whether all passed. */
function conformance(more: readonly string[]): boolean {
  if (spawnSync("go", ["version"]).status !== 0) {
    console.log("conformance: skipped, for its runner is built with Go, and there is none here");
    return true;
  }
  const folder = mkdtempSync(join(tmpdir(), "postern-conformance-"));
  try {
    const runner = installed();
    const descriptors = join(folder, "descriptors.binpb");
    execFileSync("buf", ["build", protos(), "-o", descriptors], { stdio: "inherit" });
    const passed = passes({ runner, descriptors, more });
    console.log(`conformance: ${passed ? "all passed" : "some failed"}; known-failing list: empty`);
    return passed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function installed(): string {
  const folder = join(tmpdir(), `postern-conformance-runner-${version}`);
  const runner = join(folder, "connectconformance");
  if (existsSync(runner)) return runner;
  const command = module.replace("@", "/cmd/connectconformance@");
  execFileSync("go", ["install", command], { stdio: "inherit", env: { ...process.env, GOBIN: folder } });
  return runner;
}

/** Where Go keeps the protos of the suite. */
function protos(): string {
  const about = execFileSync("go", ["mod", "download", "-json", module], { encoding: "utf8" });
  return join(JSON.parse(about).Dir, "proto");
}

type Run = {
  readonly runner: string;
  readonly descriptors: string;
  readonly more: readonly string[];
};

function passes({ runner, descriptors, more }: Run): boolean {
  const here = import.meta.dirname;
  // A server must be up within ten seconds; on a busy machine, many at once are not.
  const options = ["--mode", "server", "--conf", join(here, "config.yaml"), "--max-servers", "2", ...more];
  const server = [process.execPath, join(here, "server.ts"), descriptors];
  return spawnSync(runner, [...options, "--", ...server], { stdio: "inherit" }).status === 0;
}

process.exitCode = conformance(process.argv.slice(2)) ? 0 : 1;
