import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { clearField, clone, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { afterAll, expect, test } from "vitest";
import { root } from "../rules/tree.ts";

// A copy far from buf.yaml: whoever has proto/ has no more than that.
const folder = mkdtempSync(join(tmpdir(), "postern-proto-"));
cpSync(join(root, "proto"), folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const buf = join(root, "node_modules/.bin/buf");
const built = execFileSync(buf, ["build", "--as-file-descriptor-set", "--exclude-source-info", "-o", "-"], {
  cwd: folder,
  maxBuffer: 64 << 20,
});
const files = fromBinary(FileDescriptorSetSchema, built).file;
const ours = files.filter(({ name }) => name.startsWith("postern/"));

test("the folder of the contract has every file that the contract imports", () => {
  const there = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".proto"));
  const known = files.map(({ name }) => name).filter((name) => !name.startsWith("google/protobuf/"));
  expect(known.sort()).toEqual(there.sort());
  const imported = files.flatMap(({ dependency }) => dependency);
  expect(imported.filter((name) => !files.some((file) => file.name === name))).toEqual([]);
});

test("every file of the contract says how its code is named in each language", () => {
  expect(ours.length).toBeGreaterThan(10);
  for (const { name, options } of ours) {
    const words = basename(name, ".proto").split("_");
    expect(options, name).toMatchObject({
      csharpNamespace: "Postern.V1",
      goPackage: "github.com/postern/postern-go/postern/v1;posternv1",
      javaMultipleFiles: true,
      javaOuterClassname: `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}Proto`,
      javaPackage: "com.postern.v1",
      objcClassPrefix: "PXX",
      phpMetadataNamespace: "Postern\\V1\\GPBMetadata",
      phpNamespace: "Postern\\V1",
      rubyPackage: "Postern::V1",
    });
  }
});

test("the rules of fields are the public file that the validator was made with, so that both fit in one program", () => {
  const here = files.find(({ name }) => name === "buf/validate/validate.proto");
  const same = here && bytesOf(here).equals(bytesOf(file_buf_validate_validate.proto));
  expect(same).toBe(true);
});

test("every file of others keeps its licence", () => {
  for (const { name } of files.filter((file) => !file.name.startsWith("google/protobuf/") && !ours.includes(file)))
    expect(readFileSync(join(folder, name), "utf8"), name).toMatch(
      /^\/\/ Copyright .*\n\/\/\n\/\/ Licensed under the Apache License/,
    );
});

/** The bytes of a file without the JSON names of its fields, which only one of the compilers writes out. */
function bytesOf(file: FileDescriptorProto): Buffer {
  const copy = clone(FileDescriptorProtoSchema, file);
  const fields = [...copy.extension, ...copy.messageType.flatMap(({ field, extension }) => [...field, ...extension])];
  for (const field of fields) clearField(field, FieldDescriptorProtoSchema.field.jsonName);
  return Buffer.from(toBinary(FileDescriptorProtoSchema, copy));
}

// Single values, which prove themselves or are proved later, and bring nothing back of what somebody else changed.
const singleValues = ["ChangePassword", "SetPassword", "ChangeEmail", "ChangePhone"];

test("every write that replaces what there is can name the version that it replaces", () => {
  const requests = ours.flatMap(({ service }) =>
    service.flatMap(({ method }) => method.filter(({ name }) => /^(Set|Change|Update)[A-Z]/.test(name))),
  );
  const without = requests.filter(({ inputType }) => {
    const message = ours.flatMap(({ messageType }) => messageType).find(({ name }) => inputType.endsWith(`.${name}`));
    return !message?.field.some(({ name }) => name === "expected_sequence");
  });
  expect(without.map(({ name }) => name).toSorted()).toEqual(singleValues.toSorted());
});
