import { copyFile, readFile, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The folder of the package. */
export const root = fileURLToPath(new URL("..", import.meta.url));

const manifest = `${root}package.json`;
const ours = `${root}package.json.source`;
const next = `${root}package.json.next`;

/** Puts the published manifest in the place of ours, which is kept beside it. */
export async function publishManifest(): Promise<void> {
  const text = JSON.stringify(published(JSON.parse(await readFile(manifest, "utf8"))), null, 2);
  await copyFile(manifest, ours);
  await writeFile(next, `${text}\n`);
  await rename(next, manifest);
}

/** Puts everything back as it was before the package was packed, also when packing ended early. */
export async function restore(): Promise<void> {
  await rename(ours, manifest).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  for (const made of [next, `${root}dist`, `${root}LICENSE`]) await rm(made, { recursive: true, force: true });
}

/** The manifest as it is published: `publishConfig` wins. The scripts stay, or the next run could not begin with ours. */
function published({ publishConfig, ...others }: Readonly<Record<string, unknown>>): object {
  const wins = typeof publishConfig === "object" ? publishConfig : {};
  return { ...others, ...wins };
}
