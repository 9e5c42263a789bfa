import {
  create,
  type DescMessage,
  equals,
  fromBinary,
  fromJsonString,
  type JsonObject,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { AddUserGrantsRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import { CreateUsersRequestSchema } from "../../gen/postern/v1/user_pb.ts";
import { decoderOf } from "../../packages/gateway/src/codec/decoder.ts";
import { anyTypes, encodeJson } from "../../packages/gateway/src/codec/json.ts";
import {
  binaryInPieces,
  createInPieces,
  jsonTextInPieces,
  longListIn,
} from "../../packages/gateway/src/codec/pieces.ts";
import { contractBounds } from "../../src/contract/field_bounds.ts";
import { services } from "../../src/runtime/modules.ts";

/** Counts the pauses, each of which lets the event loop go on. */
function pausing() {
  const taken = { pauses: 0 };
  const pause = async () => {
    taken.pauses += 1;
    await new Promise(setImmediate);
  };
  return { taken, pause };
}

const outputs = [...new Set(services.flatMap(({ methods }) => methods.map(({ output }) => output)))];

/** A message whose first list has a hundred items, with another value wherever there is one. */
function longOf(type: DescMessage): { init: object; message: Message } | undefined {
  const list = type.fields.find(({ fieldKind, message }) => fieldKind === "list" && message);
  if (!list?.message) return undefined;
  const texts = type.fields.filter(({ scalar, fieldKind }) => fieldKind === "scalar" && scalar === 9);
  const init = {
    ...Object.fromEntries(texts.map(({ localName }) => [localName, `"é" ${localName}`])),
    [list.localName]: Array.from({ length: 100 }, () => ({})),
  };
  return { init, message: create(type, init) };
}

const long = outputs.flatMap((type) => {
  const made = longOf(type);
  return made ? [{ name: type.name, type, ...made }] : [];
});

test("the contract has answers with long lists", () => {
  expect(long.map(({ name }) => name)).toContain("ListUsersResponse");
});

test.each(long)("$name is made and written in pieces as it is at once", async ({ type, init, message }) => {
  const { taken, pause } = pausing();
  const toJsonOf = (desc: DescMessage, one: Message) => encodeJson(desc, one, anyTypes);
  const text = await jsonTextInPieces(type, message, { toJson: toJsonOf, pause });
  expect(text).toBe(JSON.stringify(encodeJson(type, message)));
  const binary = await binaryInPieces(type, message, pause);
  expect(equals(type, fromBinary(type, binary), message)).toBe(true);
  const list = longListIn(type, init);
  if (!list) throw new Error("the list is long");
  expect(equals(type, await createInPieces(type, init, { list, pause }), message)).toBe(true);
  expect(taken.pauses).toBeGreaterThan(30);
});

const users = create(CreateUsersRequestSchema, {
  allOrNothing: true,
  items: Array.from({ length: 300 }, (_, n) => ({
    kind: { case: "human" as const, value: { username: `u${n}`, givenName: "Zoë", familyName: "B", email: "a@b.c" } },
  })),
});
const grants = create(AddUserGrantsRequestSchema, {
  items: Array.from({ length: 1000 }, (_, n) => ({ userId: `user-${n}`, projectId: "p", roleKeys: ["a", "b"] })),
  allOrNothing: true,
});
const requests: readonly (readonly [name: string, type: DescMessage, message: Message])[] = [
  ["users", CreateUsersRequestSchema, users],
  ["grants", AddUserGrantsRequestSchema, grants],
];

test.each(requests)("a request with many %s is read in pieces as it is at once", async (_, type, message) => {
  const { taken, pause } = pausing();
  const decoder = decoderOf(type, { bounds: contractBounds });
  const json = Buffer.from(JSON.stringify(toJson(type, message)));
  const named = Buffer.from(json.toString().replaceAll('"userId"', '"user_id"'));
  for (const text of [json, named])
    expect(equals(type, await decoder.fromJson(text, pause), fromJsonString(type, json.toString()))).toBe(true);
  expect(equals(type, await decoder.fromBinary(toBinary(type, message), pause), message)).toBe(true);
  expect(taken.pauses).toBeGreaterThan(10);
});

test("a faulty item fails a long request with the same error as at once", async () => {
  const decoder = decoderOf(CreateUsersRequestSchema, { bounds: contractBounds });
  const { pause } = pausing();
  const json = toJson(CreateUsersRequestSchema, users) as JsonObject & { items: JsonObject[] };
  json.items[200] = { human: { username: 7 } };
  const text = Buffer.from(JSON.stringify(json));
  const failure = await Promise.resolve(decoder.fromJson(text, pause)).catch((error: unknown) => error);
  expect(() => decoder.fromJson(text)).toThrow(failure as Error);
  expect(failure).toMatchObject({ details: { violations: [{ field: "items[200].human.username" }] } });
  const bytes = toBinary(CreateUsersRequestSchema, users).subarray(0, -1);
  const broken = await Promise.resolve()
    .then(() => decoder.fromBinary(bytes, pause))
    .catch((error: unknown) => error);
  expect(() => decoder.fromBinary(bytes)).toThrow(broken as Error);
});
