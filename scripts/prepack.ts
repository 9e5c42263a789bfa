// npm runs this before it packs: in the repository the program is TypeScript that Node runs as it is, and Node strips no types
// below node_modules. The JavaScript stands under dist as the TypeScript does here, with the gateway inside. npm reads
// package.json again afterwards.
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { publishManifest, restore, root } from "./manifest.ts";

await restore();
execFileSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
for (const folder of ["src", join("packages", "gateway", "src")]) await copyAssets(folder);
await leadToGateway(join(root, "dist", "src"));
await publishManifest();

/** Copies what is no TypeScript: migrations, styles, texts. */
async function copyAssets(folder: string): Promise<void> {
  for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.endsWith(".ts")) continue;
    const copy = join(root, "dist", relative(root, path));
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(path, copy);
  }
}

/** Lets every module import the gateway by its path: the package of that name is not installed with this one. */
async function leadToGateway(folder: string): Promise<void> {
  const gateway = join(root, "dist", "packages", "gateway", "src", "gateway.js");
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    const path = join(folder, name);
    const code = await readFile(path, "utf8");
    const led = code.replaceAll('"@postern/gateway"', JSON.stringify(relative(dirname(path), gateway)));
    if (led !== code) await writeFile(path, led);
  }
}
