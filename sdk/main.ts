// Generates and packs the client libraries: `npm run sdk`, or `npm run sdk -- go java` for some of them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contractDescriptors } from "./contract.ts";
import { packGo } from "./go.ts";
import { packMaven } from "./maven.ts";
import { packNpm } from "./npm.ts";
import { packPython } from "./pypi.ts";
import { dist } from "./workshop.ts";

/** Builds one package from the descriptors in a file, and returns its archives. */
type Pack = (descriptors: string) => readonly string[];

const packs: Readonly<Record<string, Pack>> = {
  typescript: packNpm,
  python: packPython,
  go: packGo,
  java: packMaven,
};

process.exitCode = main(process.argv.slice(2));

function main(given: readonly string[]): number {
  const unknown = given.filter((name) => !Object.hasOwn(packs, name));
  if (unknown.length > 0) {
    process.stderr.write(
      `There is no package for ${unknown.join(", ")}: name some of ${Object.keys(packs).join(", ")}\n`,
    );
    return 2;
  }
  mkdirSync(dist, { recursive: true });
  const descriptors = join(dist, "contract.binpb");
  writeFileSync(descriptors, contractDescriptors());
  for (const [name, pack] of Object.entries(packs))
    if (given.length === 0 || given.includes(name)) for (const archive of pack(descriptors)) console.log(archive);
  return 0;
}
