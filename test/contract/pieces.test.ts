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

type Outcome = { readonly message?: Message; readonly error?: unknown };

const outcomeOf = (decode: () => Message | Promise<Message>): Promise<Outcome> =>
  Promise.resolve()
    .then(decode)
    .then(
      (message) => ({ message }),
      (error: unknown) => ({ error }),
    );

const few = {
  items: Array.from({ length: 60 }, (_, n) => ({
    kind: {
      case: "human" as const,
      value: { username: `u${n}`, givenName: "Zoë", familyName: "B".repeat(60), email: "a@b.c" },
    },
  })),
  allOrNothing: true,
};

/** Numbers below a limit, the same ones for the same seed. */
function numbers(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** Fields that readers skip: an unknown number, a group, groups in groups up to a depth, and the end of a group that never began. */
const skipped = (below: (limit: number) => number): Buffer => {
  const depth = 1 + below(120);
  return [
    Buffer.from([0xfa, 0x07, 0x03, 0x61, 0x62, 0x63]),
    Buffer.from([0xfb, 0x07, 0x08, 0x01, 0xfc, 0x07]),
    Buffer.concat([Buffer.alloc(2 * depth, "fb07", "hex"), Buffer.alloc(2 * depth, "fc07", "hex")]),
    Buffer.from([0xfc, 0x07]),
  ][below(4)] as Buffer;
};

/** Changes bytes at a place: another byte or wire type, some gone, some twice, an unknown field, or an end in the middle. */
function mutate(bytes: Uint8Array, below: (limit: number) => number): Uint8Array {
  const at = below(4) === 0 ? below(8) : below(bytes.length);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const some = after.subarray(0, 1 + below(200));
  switch (below(6)) {
    case 0:
      return Buffer.concat([before, Buffer.from([below(256)]), after.subarray(1)]);
    case 1:
      return Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ (1 + below(7))]), after.subarray(1)]);
    case 2:
      return Buffer.concat([before, after.subarray(some.length)]);
    case 3:
      return Buffer.concat([before, some, after]);
    case 4:
      return Buffer.concat([before, skipped(below), after]);
    default:
      return before;
  }
}

/** Changes JSON text: another character, some gone, some twice, or the name of a field. */
function mutateText(text: string, below: (limit: number) => number): string {
  const at = below(text.length);
  const length = 1 + below(200);
  switch (below(4)) {
    case 0:
      return text.slice(0, at) + '{}[],:"0nul\\é\ud800'[below(17)] + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + text.slice(at + length);
    case 2:
      return text.slice(0, at + length) + text.slice(at);
    default:
      return text.replace(
        /"(items|human|email|allOrNothing)"/,
        `"${["items", "all_or_nothing", "kind", "__proto__"][below(4)]}"`,
      );
  }
}

test.each([1, 2, 3])(
  "a long request that is mutated by seed %i is read in pieces as it is at once, or refused with the same error",
  async (seed) => {
    const below = numbers(seed);
    const decoder = decoderOf(CreateUsersRequestSchema, { bounds: contractBounds });
    const pause = async () => {};
    const bytes = toBinary(CreateUsersRequestSchema, create(CreateUsersRequestSchema, few));
    const text = JSON.stringify(toJson(CreateUsersRequestSchema, create(CreateUsersRequestSchema, few)));
    for (let round = 0; round < 60; round++) {
      let [binary, json]: [Uint8Array, string] = [bytes, text];
      for (let times = 1 + below(3); times > 0; times--)
        [binary, json] = [mutate(binary, below), mutateText(json, below)];
      const written = Buffer.from(json);
      for (const decode of [
        (pausing?: () => Promise<void>) => decoder.fromBinary(binary, pausing),
        (pausing?: () => Promise<void>) => decoder.fromJson(written, pausing),
      ]) {
        const [whole, inPieces] = [await outcomeOf(() => decode()), await outcomeOf(() => decode(pause))];
        expect([round, inPieces]).toEqual([round, whole]);
      }
    }
  },
);

test("a field is read as it is declared, whatever the tag says, also in a long request", async () => {
  const decoder = decoderOf(CreateUsersRequestSchema, { bounds: contractBounds });
  const message = create(CreateUsersRequestSchema, few);
  const bytes = toBinary(CreateUsersRequestSchema, message);
  for (const wire of [0, 1, 5]) {
    const wrong = Uint8Array.from(bytes);
    wrong[0] = ((bytes[0] ?? 0) & ~7) | wire;
    const read = await decoder.fromBinary(wrong, async () => {});
    expect(equals(CreateUsersRequestSchema as DescMessage, read, message)).toBe(true);
  }
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
