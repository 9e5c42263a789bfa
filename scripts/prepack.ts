// npm runs this before it packs: in the repository the program is TypeScript that Node runs as it is, and Node strips no types
// below node_modules. npm reads package.json again afterwards.
import { join } from "node:path";
import { bundle, root } from "./bundle.ts";
import { publishManifest, restore } from "./manifest.ts";

await restore();
await bundle(join(root, "dist"));
await publishManifest();
