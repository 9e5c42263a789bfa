import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../../../..", import.meta.url));
const modules = join(repository, "node_modules");

/** An empty project into which the packed gateway was installed, to be disposed. */
export type Project = AsyncDisposable & {
  readonly folder: string;
  /** The files of the archive. */
  readonly packed: readonly string[];
  /** The files of the package's folder after packing. */
  readonly left: readonly string[];
};

/** Packs the gateway, installs it where nothing else is, and generates the code of its services. */
export async function installedProject(): Promise<Project> {
  const base = await mkdtemp(join(tmpdir(), "postern-package-"));
  const folder = join(base, "project");
  const dispose = () => rm(base, { recursive: true, force: true });
  try {
    const { archive, left } = await pack(base);
    const { stdout } = await run("tar", ["-tzf", archive]);
    await mkdir(folder);
    await install(folder, archive, base);
    await generate(folder);
    return { folder, packed: stdout.trim().split("\n").sort(), left, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Packs a copy: while npm packs, package.json leads to JavaScript, and other tests import the package at the same time. */
async function pack(base: string): Promise<{ archive: string; left: string[] }> {
  const copy = join(base, "repository");
  const gateway = join("packages", "gateway");
  for (const path of ["package.json", "tsconfig.json", "LICENSE", "bin", gateway])
    await cp(join(repository, path), join(copy, path), { recursive: true });
  await symlink(modules, join(copy, "node_modules"));
  const before = await readFile(join(copy, gateway, "package.json"), "utf8");
  // A run that ends early leaves the manifest of the archive behind; the next one begins with ours all the same.
  await run("npm", ["run", "prepack", "-w", gateway], { cwd: copy });
  await run("npm", ["pack", "-w", gateway, "--pack-destination", base], { cwd: copy });
  const after = await readFile(join(copy, gateway, "package.json"), "utf8");
  if (after !== before) throw new Error("package.json is not as it was before the package was packed");
  const [archive = ""] = (await readdir(base)).filter((name) => name.endsWith(".tgz"));
  return { archive: join(base, archive), left: (await readdir(join(copy, gateway))).sort() };
}

/** Installs the archive; its dependencies are packed from the repository, so that no registry is needed. */
async function install(folder: string, archive: string, base: string): Promise<void> {
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const needed = ["@bufbuild/protobuf", "@connectrpc/connect", "@types/node", "undici-types"];
  const peers = join(base, "peers");
  await mkdir(peers);
  const packing = [
    "pack",
    "--ignore-scripts",
    "--pack-destination",
    peers,
    ...needed.map((name) => join(modules, name)),
  ];
  await run("npm", packing, { cwd: folder });
  const archives = [archive, ...(await readdir(peers)).map((name) => join(peers, name))];
  await run("npm", ["install", "--offline", "--cache", join(base, "cache"), "--no-audit", "--no-fund", ...archives], {
    cwd: folder,
  });
}

/** Generates JavaScript from the proto, as the user of any service does. */
async function generate(folder: string): Promise<void> {
  const own = fileURLToPath(new URL("./project", import.meta.url));
  const google = join("google", "api");
  await cp(join(own, "eliza.proto"), join(folder, "proto", "connectrpc", "eliza", "v1", "eliza.proto"));
  for (const name of ["annotations.proto", "http.proto"])
    await cp(join(repository, "proto", google, name), join(folder, "proto", google, name));
  await cp(join(own, "server.js"), join(folder, "server.js"));
  const plugin = {
    local: join(modules, ".bin", "protoc-gen-es"),
    out: "gen",
    opt: ["target=js+dts", "import_extension=js"],
  };
  const template = { version: "v2", inputs: [{ directory: "proto" }], plugins: [plugin] };
  const buf = join(modules, ".bin", "buf");
  await run(buf, ["generate", "--template", JSON.stringify(template)], { cwd: folder });
  await run(buf, ["build", "proto", "-o", "eliza.binpb"], { cwd: folder });
}

/** Checks a file of the project by the compiler, which reads the types of the package. */
export async function compile(folder: string, file: string): Promise<void> {
  const options = ["--noEmit", "--strict", "--skipLibCheck", "false", "--target", "es2024", "--module", "nodenext"];
  await run(join(modules, ".bin", "tsc"), [...options, "--types", "node", file], { cwd: folder });
}

/** A server of the project that runs, to be disposed. */
export type Running = AsyncDisposable & { readonly url: string };

/** Runs a file of the project that writes its URL, and ends it as an operator does. */
export async function start(folder: string, file: string): Promise<Running> {
  const child = spawn(process.execPath, [file], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const url = await Promise.race([firstLine(child), exited.then(([code]) => `exit ${code}`)]);
  if (!url.startsWith("http://")) throw new Error(`${file} does not serve: ${url}`);
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error("the server has no output");
  for await (const line of createInterface({ input: child.stdout })) return line;
  return "no output";
}
