import { copyFile, readFile, rename, rm, writeFile } from "node:fs/promises";
import { beside, root } from "./bundle.ts";

const manifest = `${root}package.json`;
const ours = `${root}package.json.source`;
const next = `${root}package.json.next`;

/** Puts the published manifest in the place of ours, which is kept beside it. */
export async function publishManifest(): Promise<void> {
  const [source, lock] = await Promise.all([readJson(manifest), readJson(`${root}package-lock.json`)]);
  await copyFile(manifest, ours);
  await writeFile(next, `${JSON.stringify(published(source as Manifest, (lock as Lock).packages), null, 2)}\n`);
  await rename(next, manifest);
}

/** Puts everything back as it was before the package was packed, also when packing ended early. */
export async function restore(): Promise<void> {
  await rename(ours, manifest).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  for (const made of [next, `${root}dist`]) await rm(made, { recursive: true, force: true });
}

const readJson = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, "utf8"));

type Versions = Readonly<Record<string, string>>;
type Manifest = Readonly<Record<string, unknown>> & Readonly<Record<"dependencies" | "optionalDependencies", Versions>>;
type Lock = { readonly packages: Readonly<Record<string, { readonly version: string }>> };

const ofTheRepository = ["private", "workspaces", "devDependencies", "allowScripts"];

/**
 * The manifest as it is published: with the packages that are not in the program, in the versions of the lock, which are those that
 * were tested. The scripts of packing stay, or the next run could not begin with ours.
 */
function published(source: Manifest, locked: Lock["packages"]): object {
  const kept = Object.entries(source).filter(([name]) => !ofTheRepository.includes(name));
  const exact = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, locked[`node_modules/${name}`]?.version]));
  const { prepack, postpack } = source.scripts as Versions;
  return {
    ...Object.fromEntries(kept),
    scripts: { prepack, postpack },
    dependencies: exact(beside),
    optionalDependencies: exact(Object.keys(source.optionalDependencies)),
  };
}
