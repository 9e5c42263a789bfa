import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { contractFiles } from "./contract.ts";
import { openWorkshop } from "./workshop.ts";

/** Packs the library for Maven: the classes, the sources and their documentation. */
export function packMaven(descriptors: string): string[] {
  const { folder, run, stamp, supply } = openWorkshop("java");
  supply("src/main/resources/com/postern");
  stamp("pom.xml");
  stamp("README.md");
  run("mvn", "--batch-mode", "--quiet", "initialize");
  const [protoc, plugin] = ["protoc", "protoc-gen-grpc-java"].map((name) => join(folder, "target/generators", name));
  if (!protoc || !plugin) throw new Error("Maven brought no generators");
  for (const generator of [protoc, plugin]) chmodSync(generator, 0o755);
  const out = join(folder, "target/generated-sources/protobuf");
  mkdirSync(out, { recursive: true });
  const how = [`--plugin=protoc-gen-grpc-java=${plugin}`, `--java_out=${out}`, `--grpc-java_out=${out}`];
  run(protoc, `--descriptor_set_in=${descriptors}`, ...how, ...contractFiles());
  run("mvn", "--batch-mode", "--quiet", "package");
  return readdirSync(join(folder, "target"))
    .filter((name) => name.endsWith(".jar"))
    .map((name) => join(folder, "target", name));
}
