import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openWorkshop } from "./workshop.ts";

const template = JSON.stringify({
  version: "v2",
  plugins: [
    { local: "protoc-gen-es", out: "src/gen", include_imports: true, opt: ["target=ts", "import_extension=ts"] },
  ],
});

/** Packs the library for npm. */
export function packNpm(descriptors: string): string[] {
  const { folder, run, stamp, supply } = openWorkshop("typescript");
  supply(".");
  writePolicy(folder);
  stamp("package.json");
  run("buf", "generate", descriptors, "--template", template);
  run("tsc", "--project", "tsconfig.json");
  run("npm", "pack", "--silent", "--ignore-scripts");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => join(folder, name));
}

/** Writes the retry policy as a module: browsers import no JSON. */
function writePolicy(folder: string): void {
  const { methodConfig } = JSON.parse(readFileSync(join(folder, "grpc-retry.json"), "utf8"));
  const { retryableStatusCodes, ...policy } = methodConfig[0].retryPolicy;
  const codes = `retryableStatusCodes: ${JSON.stringify(retryableStatusCodes)} as readonly string[]`;
  const rest = JSON.stringify(policy).slice(1, -1);
  const text = `/** The retry policy of the service. */\nexport const retryPolicy = { ${rest}, ${codes} };\n`;
  writeFileSync(join(folder, "src/retry_policy.ts"), text);
}
