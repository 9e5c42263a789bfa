import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  CreateOidcApplicationRequestSchema,
  RotateClientSecretRequestSchema,
} from "../../gen/postern/v1/application_pb.ts";
import { AddUserGrantRequestSchema, AddUserGrantsRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import { itemCount } from "../../packages/gateway/src/codec/item_count.ts";
import { GatewayError } from "../../packages/gateway/src/errors/gateway_error.ts";
import { seeded } from "../../packages/gateway/test/http/http2/seeded.ts";
import { sampleMessage } from "../../packages/gateway/test/sample_service.ts";
import { contractBounds } from "../../src/contract/field_bounds.ts";

/** The refusal of a count, as `path REASON`; the reason alone if it names no field. */
function refusal(counting: () => void): string[] {
  try {
    counting();
    return [];
  } catch (error) {
    // Any other error of the reader is an error of the wire format.
    if (!(error instanceof GatewayError) || error.reason === "MALFORMED_BODY") return ["MALFORMED_BODY"];
    const { violations = [] } = error.details;
    return violations.map((one) => `${one.field} ${one.reason}`);
  }
}

const oidc = itemCount(CreateOidcApplicationRequestSchema, contractBounds);
const grants = itemCount(AddUserGrantsRequestSchema, contractBounds);

test("packed items are counted one by one, in as many parts as they come", () => {
  const packed = Buffer.concat([Buffer.of(0x22, 0xa0, 0x1f), Buffer.alloc(4000)]);
  expect(refusal(() => oidc.binary(packed))).toEqual(["responseTypes REPEATED_MAX_ITEMS"]);
  expect(refusal(() => oidc.binary(Buffer.alloc(8000, Buffer.of(0x22, 1, 0))))).toEqual([
    "responseTypes REPEATED_MAX_ITEMS",
  ]);
  expect(refusal(() => oidc.binary(Buffer.alloc(8000, Buffer.of(0x22, 0))))).toEqual(["MALFORMED_BODY"]);
  expect(refusal(() => oidc.json({ responseTypes: Array(4000).fill(0) }))).toEqual([
    "responseTypes REPEATED_MAX_ITEMS",
  ]);
});

test("every list that is too long is named until there are too many values", () => {
  const lists = {
    redirect_uris: Array(101).fill("a"),
    grantTypes: Array(11).fill(0),
    responseTypes: Array(4000).fill(0),
  };
  const named = ["redirectUris", "grantTypes", "responseTypes"].map((field) => `${field} REPEATED_MAX_ITEMS`);
  expect(refusal(() => oidc.json(lists))).toEqual(named);
});

test("values that JSON has in other places are left to the decoder", () => {
  const many = Array(50_000).fill({ roleKeys: ["a"] });
  for (const value of [{ nope: many }, { allOrNothing: many }, { items: { items: many } }, many, "items", null])
    expect(refusal(() => grants.json(value))).toEqual([]);
});

test("as many values as the rules allow are let through", () => {
  const item = { userId: "u", projectId: "p", projectGrantId: "g", roleKeys: Array(10).fill("viewer") };
  const message = create(AddUserGrantsRequestSchema, { items: Array(1000).fill(item), allOrNothing: true });
  expect(refusal(() => grants.binary(toBinary(AddUserGrantsRequestSchema, message)))).toEqual([]);
  expect(refusal(() => grants.json(toJson(AddUserGrantsRequestSchema, message)))).toEqual([]);
});

test("groups within groups end the count before the stack", () => {
  expect(refusal(() => grants.binary(Buffer.alloc(100_000, 0x7b)))).toEqual(["MALFORMED_BODY"]);
});

test("a type whose rules leave lists open is not counted", () => {
  expect(
    refusal(() => itemCount(sampleMessage(), contractBounds).binary(Buffer.alloc(100_000, Buffer.of(0x50, 1)))),
  ).toEqual([]);
});

/** Messages of more bytes than are let through unread, for the count to walk. */
const samples = [
  [AddUserGrantRequestSchema, create(AddUserGrantRequestSchema, { userId: "u", roleKeys: Array(400).fill("viewer") })],
  [
    AddUserGrantsRequestSchema,
    create(AddUserGrantsRequestSchema, {
      items: Array(30).fill({ userId: "u".repeat(1000), projectId: "p", roleKeys: ["a", "b"] }),
    }),
  ],
  [
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, {
      ...{ name: "n".repeat(1000), responseTypes: [0, 1, 2], grantTypes: [0, 3], devMode: true },
      ...{ redirectUris: ["https://a.example/"], clockSkew: { seconds: 5n, nanos: 7 } },
    }),
  ],
  [
    RotateClientSecretRequestSchema,
    create(RotateClientSecretRequestSchema, { projectId: "p".repeat(1500), overlap: { seconds: 1n << 40n } }),
  ],
] as const;

test("the count refuses no bytes that the decoder takes", () => {
  const random = seeded(11);
  for (const [type, message] of samples) {
    const whole = toBinary(type, message);
    const count = itemCount(type, contractBounds);
    for (let round = 0; round < 3000; round += 1) {
      const bytes = Buffer.from(whole);
      for (let edits = random(4); edits >= 0; edits -= 1) bytes[random(bytes.length)] = random(256);
      if (refusal(() => count.binary(bytes)).length > 0) expect(() => fromBinary(type, bytes)).toThrow();
    }
  }
});

test("the decoder finds no more items than were counted", () => {
  const random = seeded(12);
  const whole = toBinary(
    AddUserGrantRequestSchema,
    create(AddUserGrantRequestSchema, { roleKeys: Array(4000).fill("a") }),
  );
  const count = itemCount(AddUserGrantRequestSchema, contractBounds);
  for (let round = 0; round < 3000; round += 1) {
    const bytes = Buffer.from(whole);
    for (let edits = random(40); edits >= 0; edits -= 1) bytes[random(bytes.length)] = random(256);
    if (refusal(() => count.binary(bytes)).length === 0) expect(itemsIn(bytes)).toBeLessThanOrEqual(2004);
  }
});

function itemsIn(bytes: Uint8Array): number {
  try {
    return fromBinary(AddUserGrantRequestSchema, bytes).roleKeys.length;
  } catch {
    return 0;
  }
}
