import { access, cp, mkdir, readdir, realpath, rm } from "node:fs/promises";
import { join, sep } from "node:path";
import { packageFolder } from "./package_folder.ts";

/** The outcome for the operator: whether the contract was written, and lines that say where, or why not. */
export type ProtoFolder = { readonly ok: boolean; readonly lines: readonly string[] };

// The files of an earlier version, some of which may no longer exist; everything else in the folder stays.
const ours = join("postern", "v1");

/**
 * Writes the contract with all its imports into a folder, so that a generator needs nothing else. The folder must be new, be empty, or
 * already contain the contract.
 */
export async function writeProtoFolder(folder: string): Promise<ProtoFolder> {
  const source = join(packageFolder(), "proto");
  try {
    if (!(await mayWrite(folder)))
      return refusal(`${folder} is not empty and holds no contract: name a new or an empty folder`);
    if ((await realpath(folder)) === (await realpath(source)))
      return refusal(`${folder} is the contract itself: name another folder`);
    await rm(join(folder, ours), { recursive: true, force: true });
    await cp(source, folder, { recursive: true });
    return { ok: true, lines: await written(folder) };
  } catch (error) {
    if (!isOfFiles(error)) throw error;
    return refusal(`${folder} cannot be written (${error.message}): name a folder that this user may write`);
  }
}

/** Creates the folder; returns whether it contains nothing to lose except an earlier contract. */
async function mayWrite(folder: string): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  const inside = await readdir(folder);
  if (inside.length === 0) return true;
  return access(join(folder, ours)).then(
    () => true,
    () => false,
  );
}

async function written(folder: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true });
  const files = all.filter((path) => path.endsWith(".proto"));
  const own = files.filter((path) => path.startsWith(ours + sep));
  const rest = files.length - own.length;
  return [
    `${own.length} files of the contract and ${rest} that they import are in ${folder}`,
    `its README tells how to generate from them: ${join(folder, "README.md")}`,
  ];
}

const refusal = (sentence: string): ProtoFolder => ({ ok: false, lines: [sentence] });

const isOfFiles = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && "code" in error;
