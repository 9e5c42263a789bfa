import { cp, mkdir, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeProtoFolder } from "../../../src/contract/proto_folder.ts";
import { ended } from "../command.ts";
import { found, type Toolchain } from "../toolchains.ts";
import { root } from "../workshop.ts";

const base = join(root, "node_modules/.cache/postern-clients/generate");

const toolchains = { typescript: undefined, python: "python", go: "go", java: "java" } as const;

/** Declares the test of the commands of the documents that generate a client in a language. */
export function generates(name: keyof typeof toolchains): void {
  const toolchain: Toolchain | undefined = toolchains[name];
  describe.skipIf(toolchain && !found(toolchain))(name, () => {
    test("generates from the contract that the program wrote, with the commands of the documents and no more", async () => {
      const folder = await emptyFolder(name);
      expect(await writeProtoFolder(join(folder, "proto"))).toMatchObject({ ok: true });
      const path = [join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);
      const { code, out, err } = await ended(["sh", "generate.sh"], { cwd: folder, env: { PATH: path } });
      expect(code, `${out}\n${err}`).toBe(0);
      expect(out).toMatch(/postern\.v1\.UserGrantService\n$/);
    }, 600_000);
  });
}

/** A folder with the commands of a language, and the program or settings that they need. */
async function emptyFolder(name: string): Promise<string> {
  const folder = join(base, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const own = import.meta.dirname;
  await cp(join(own, `${name}.sh`), join(folder, "generate.sh"));
  if (name === "java") await cp(join(own, "pom.xml"), join(folder, "pom.xml"));
  if (name === "go") await cp(join(own, "validate"), join(folder, "validate"), { recursive: true });
  return folder;
}
