import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Workshop } from "./workshop.ts";

/** Opens the Python of an environment with what requirements.txt lists, made once for each list. */
export async function openVirtualEnvironment({ folder, kept, must }: Workshop): Promise<string> {
  const requirements = join(folder, "requirements.txt");
  const installed = join(kept, "installed.txt");
  const python = join(kept, "venv/bin/python");
  const wanted = await readFile(requirements, "utf8");
  if ((await readFile(installed, "utf8").catch(() => "")) === wanted) return python;
  await rm(kept, { recursive: true, force: true });
  await must("python3", "-m", "venv", join(kept, "venv"));
  await must(python, "-m", "pip", "install", "--quiet", "--requirement", requirements);
  await writeFile(installed, wanted);
  return python;
}
