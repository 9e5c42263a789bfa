import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Puts the manifest of each package whose modules are in the program, where scanners look for it, and its licence into a folder:
 * packages of npm have manifests of their own there.
 */
export async function writeNotices(modules: readonly string[], folder: string): Promise<void> {
  for (const [installed, own] of Map.groupBy(modules, (path) => packageOf(path)?.folder)) {
    if (installed === undefined) continue;
    const copy = join(folder, packageOf(`${installed}/`)?.name ?? "");
    await mkdir(copy, { recursive: true });
    const licences = (await readdir(installed)).filter((name) => /^(licen[cs]e|notice)/i.test(name));
    for (const name of ["package.json", ...licences]) await copyFile(join(installed, name), join(copy, name));
    if (licences.length === 0) await writeFile(join(copy, "NOTICE"), await noticeOf(installed, own));
  }
}

/** The package that a module is of: its folder and its name. */
function packageOf(path: string) {
  const [folder, name] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/.exec(path) ?? [];
  return folder !== undefined && name !== undefined ? { folder, name } : undefined;
}

/** The notices of a package without a file for its licence: each comment once that its modules begin with. */
async function noticeOf(installed: string, modules: readonly string[]): Promise<string> {
  const texts = await Promise.all(modules.map((path) => readFile(path, "utf8")));
  const notices = new Set(texts.map((text) => /^(\/\/.*\n)+/.exec(text)?.[0]).filter((notice) => notice !== undefined));
  if (notices.size > 0) return [...notices].join("\n");
  const { license } = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as { license: string };
  // The only licence that asks for nothing.
  if (license === "Unlicense") return "This is free and unencumbered software released into the public domain.\n";
  throw new Error(`${installed} has no licence to ship`);
}
