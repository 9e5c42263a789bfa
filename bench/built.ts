import { cp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundle, root } from "../scripts/bundle.ts";
import { makeFolder } from "./server.ts";

/** The program as people get it: the script by which they start it, in a folder like that of the package. */
export type Built = AsyncDisposable & { readonly script: string };

/** Builds the program, with the packages of the repository beside it. */
export async function build(): Promise<Built> {
  await using opened = new AsyncDisposableStack();
  const { path } = opened.use(await makeFolder());
  await bundle(join(path, "dist"));
  await cp(join(root, "bin"), join(path, "bin"), { recursive: true });
  await symlink(join(root, "node_modules"), join(path, "node_modules"));
  await writeFile(join(path, "package.json"), '{ "type": "module" }');
  const stack = opened.move();
  return { script: join(path, "bin", "postern"), [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
