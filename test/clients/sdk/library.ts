import { execFileSync } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Command, ended } from "../command.ts";
import { openStage } from "../stage.ts";
import { found, type Toolchain } from "../toolchains.ts";
import { root } from "../workshop.ts";
import { lossyRelay } from "./lossy_relay.ts";

const base = join(root, "node_modules/.cache/postern-clients/sdk");

type Use = {
  readonly toolchain?: Toolchain;
  readonly program: string;
  /** Installs the archives into a folder, and returns the command that runs the program there, with its environment. */
  readonly install: (
    folder: string,
    archives: readonly string[],
  ) => Promise<{ command: Command; env?: NodeJS.Dict<string> }>;
};

const uses = {
  typescript: { program: "program.mjs", install: installNpm },
  python: { toolchain: "python", program: "program.py", install: installPython },
  go: { toolchain: "go", program: "program.go", install: installGo },
  java: { toolchain: "java", program: "Program.java", install: installJava },
} satisfies Readonly<Record<string, Use>>;

/** Declares the test of the client library that is packed for a language. */
export function usesLibrary(name: keyof typeof uses): void {
  const { toolchain, program, install }: Use = uses[name];
  describe.skipIf(toolchain && !found(toolchain))(`the packed library for ${name}`, () => {
    test("does each of the four operations once, though every other answer is lost", async () => {
      const folder = join(base, name);
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      await cp(join(import.meta.dirname, program), join(folder, program));
      const { command, env } = await install(folder, await pack(name));
      await using stage = await openStage();
      await using relay = await lossyRelay(stage.postern.url);
      const where = { POSTERN_ADDRESS: relay.address, POSTERN_URL: `http://${relay.address}` };
      const { code, out, err } = await ended(command, { cwd: folder, env: { ...env, ...stage.environment, ...where } });
      expect(code, `${out}\n${err}`).toBe(0);
      expect(JSON.parse(out)).toEqual({
        grant: true,
        again: "USER_GRANT_EXISTS",
        application: true,
        code: 6,
        wrong: ["phone"],
        changed: true,
        asked: 5,
      });
      expect(relay.lost()).toBeGreaterThanOrEqual(7);
      const { body } = await stage.postern.admin.get(`/v1/users/${stage.environment.POSTERN_USER_ID}/grants`);
      expect(body.userGrants).toHaveLength(1);
    }, 900_000);
  });
}

/** Builds the archives as `npm run sdk` does. */
async function pack(name: string): Promise<string[]> {
  const { code, out, err } = await must([process.execPath, join(root, "sdk/main.ts"), name], root);
  expect(code, err).toBe(0);
  return out.trim().split("\n");
}

async function must(command: Command, cwd: string, env: NodeJS.Dict<string> = {}) {
  const end = await ended(command, { cwd, env });
  expect(end.code, `${command.join(" ")}\n${end.out}\n${end.err}`).toBe(0);
  return end;
}

async function installNpm(folder: string, [archive = ""]: readonly string[]) {
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await must(["npm", "install", "--no-audit", "--no-fund", archive], folder);
  return { command: [process.execPath, "program.mjs"] as const };
}

async function installPython(folder: string, archives: readonly string[]) {
  const wheel = archives.find((name) => name.endsWith(".whl")) ?? "";
  await must(["python3", "-m", "venv", "venv"], folder);
  await must(["venv/bin/python", "-m", "pip", "install", "--quiet", wheel], folder);
  return { command: ["venv/bin/python", "program.py"] as const };
}

async function installGo(folder: string) {
  // The machine's own settings say where modules come from; ours comes from the folder where it was packed.
  const names = ["GOMODCACHE", "GOPROXY", "GOFLAGS", "GONOSUMDB"] as const;
  const own = JSON.parse(execFileSync("go", ["env", "-json", ...names], { encoding: "utf8" }));
  const [path, packed] = ["github.com/postern", `file://${join(root, "sdk/dist/goproxy")}`];
  // The cache would keep the first archive of this version for ever.
  for (const place of [path, join("cache/download", path)])
    await rm(join(own.GOMODCACHE, place), { recursive: true, force: true });
  const env = {
    GOPROXY: [packed, own.GOPROXY].filter(Boolean).join(","),
    GONOSUMDB: [own.GONOSUMDB, `${path}/*`].filter(Boolean).join(","),
    GOFLAGS: [own.GOFLAGS, "-modcacherw", "-mod=mod"].filter(Boolean).join(" "),
    // The cache of builds keeps the list of files of a module by its version, also once its archive is another.
    GODEBUG: "goindex=0",
  };
  await must(["go", "mod", "init", "example.com/program"], folder, env);
  await must(["go", "get", "."], folder, env);
  await must(["go", "build", "-buildvcs=false", "-o", "program", "."], folder, env);
  return { command: ["./program"] as const };
}

async function installJava(folder: string, archives: readonly string[]) {
  const jar = archives.find((name) => /-\d+\.\d+\.\d+\.jar$/.test(name)) ?? "";
  const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:build-classpath";
  await must(
    ["mvn", "--batch-mode", "--quiet", plugin, `-Dmdep.outputFile=${join(folder, "classpath")}`],
    join(root, "sdk/dist/java"),
  );
  const { out } = await must(["cat", "classpath"], folder);
  return { command: ["java", "--class-path", `${jar}:${out.trim()}`, "Program.java"] as const };
}
