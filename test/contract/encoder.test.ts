import { expect, test } from "vitest";
import { messageWriter } from "../../packages/gateway/src/codec/proto/message_writer.ts";
import { testSameBytes } from "../../packages/gateway/test/codec/same_bytes.ts";
import { services } from "../../src/runtime/modules.ts";

const files = new Set(services.map(({ file }) => file));
for (const { dependencies } of files) for (const file of dependencies) files.add(file);
const messages = [...files].flatMap((file) => file.messages);

testSameBytes(messages, 10);

test("no message of the contract is left to toBinary", () => {
  const outputs = services.flatMap(({ methods }) => methods.map(({ output }) => output));
  expect(outputs.filter((output) => !messageWriter(output))).toEqual([]);
});
