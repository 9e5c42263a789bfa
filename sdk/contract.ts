import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { root } from "./workshop.ts";

// Imports that only options need.
const forOptions = /^(buf\/validate\/|google\/api\/|postern\/v1\/options\.proto)/;

/**
 * Makes the descriptors of the contract without custom options: paths, rules and permissions are for the server. With them a program could
 * not have two generated copies of the rules, nor another contract with options of these numbers.
 */
export function contractDescriptors(): Uint8Array {
  const buf = join(root, "node_modules/.bin/buf");
  const built = execFileSync(buf, ["build", "proto", "--as-file-descriptor-set", "-o", "-"], {
    cwd: root,
    maxBuffer: 64 << 20,
  });
  const { file } = fromBinary(FileDescriptorSetSchema, built);
  const kept = file.filter(({ name }) => !forOptions.test(name));
  for (const one of kept.filter(({ name }) => name.startsWith("postern/"))) dropOptions(one);
  return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: kept }));
}

/** The files of the contract for which code is generated. */
export function contractFiles(): string[] {
  const files = readdirSync(join(root, "proto/postern/v1")).map((name) => `postern/v1/${name}`);
  return files.filter((name) => !forOptions.test(name));
}

function dropOptions(file: FileDescriptorProto): void {
  file.dependency = file.dependency.filter((name) => !forOptions.test(name));
  for (const { method } of file.service) for (const { options } of method) dropCustom(options);
  for (const { field } of file.messageType) for (const { options } of field) dropCustom(options);
}

// Unknown fields in a message of options are custom options.
function dropCustom(options: Message | undefined): void {
  if (options) delete options.$unknown;
}
