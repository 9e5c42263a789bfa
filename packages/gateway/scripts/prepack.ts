// npm runs this before it packs: in the repository the package is TypeScript that Node runs as it is, and Node strips no
// types below node_modules. npm reads package.json again afterwards.
import { execFileSync } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { publishManifest, restore, root } from "./manifest.ts";

await restore();
execFileSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
for (const name of ["page.css", "browser.js"]) {
  const path = `src/services/docs/${name}`;
  await copyFile(`${root}${path}`, `${root}dist/${path}`);
}
await copyFile(`${root}../../LICENSE`, `${root}LICENSE`);
await publishManifest();
