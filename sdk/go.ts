import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dist, openWorkshop, version } from "./workshop.ts";

const path = "github.com/postern/postern-go";

const plugin = (name: string) => ({ local: ["go", "tool", name], out: ".", opt: [`module=${path}`] });
const template = JSON.stringify({ version: "v2", plugins: [plugin("protoc-gen-go"), plugin("protoc-gen-go-grpc")] });

/** Packs the library as a module in the layout of a module proxy, which `GOPROXY=file://…` reads; the folder is its repository. */
export function packGo(descriptors: string): string[] {
  const { folder, run, supply } = openWorkshop("go");
  supply(".");
  run("buf", "generate", descriptors, "--template", template, "--path", "postern");
  run("go", "mod", "tidy");
  run("go", "vet", "./...");
  const versions = join(dist, "goproxy", path, "@v");
  rmSync(versions, { recursive: true, force: true });
  mkdirSync(versions, { recursive: true });
  const name = join(versions, `v${version}`);
  writeFileSync(join(versions, "list"), `v${version}\n`);
  writeFileSync(`${name}.info`, JSON.stringify({ Version: `v${version}`, Time: new Date().toISOString() }));
  writeFileSync(`${name}.mod`, readFileSync(join(folder, "go.mod")));
  run("go", "run", "pack.go", `${name}.zip`, `${path}@v${version}`);
  return [`${name}.zip`];
}
