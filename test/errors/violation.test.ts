import type { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { countListed, withFewer } from "../../packages/gateway/src/errors/refusal.ts";
import { namedFields } from "../../packages/gateway/src/errors/violation.ts";
import { errorToJson } from "../../packages/gateway/src/rpc/protocols/connect_es.ts";
import { fittingStatusOf, statusOf } from "../../packages/gateway/src/rpc/protocols/grpc_status.ts";
import { errorJson } from "../../packages/gateway/src/rpc/protocols/json.ts";
import { cutText, isWithin, localized, pathsAround, refuse, type Violation } from "../../src/errors.ts";
import { errorText, text } from "../../src/messages/catalogue.ts";

describe("a text that an answer repeats", () => {
  test("is left as it is up to 200 characters", () => {
    expect(cutText("x".repeat(200))).toBe("x".repeat(200));
    expect(cutText("")).toBe("");
  });

  test("has 200 characters at most, the last of which says that it is cut", () => {
    expect(cutText("x".repeat(201))).toBe(`${"x".repeat(199)}…`);
  });

  test("is never cut in the middle of a surrogate pair", () => {
    expect(cutText(`${"x".repeat(198)}🦊${"x".repeat(9)}`)).toBe(`${"x".repeat(198)}…`);
    expect(cutText(`${"x".repeat(197)}🦊${"x".repeat(9)}`)).toBe(`${"x".repeat(197)}🦊…`);
    expect(cutText(`${"x".repeat(198)}🦊`)).toBe(`${"x".repeat(198)}🦊`);
  });

  test("is well-formed, whatever it was", () => {
    expect(cutText("a\ud83e")).toBe("a\ufffd");
    expect(cutText("\ud83e".repeat(300))).toBe(`${"\ufffd".repeat(199)}…`);
  });
});

test("a path is within itself and its parents, not within names that begin alike", () => {
  expect(isWithin("items[3].roleKeys[0]", "items")).toBe(true);
  expect(isWithin("items[3]", "items[3]")).toBe(true);
  expect(isWithin("items[31]", "items[3]")).toBe(false);
  expect(isWithin("itemsCount", "items")).toBe(false);
  expect([...pathsAround("items[3].roleKeys[0]")]).toEqual([
    ...["items[3].roleKeys[0]", "items[3].roleKeys", "items[3]", "items"],
  ]);
});

const wrong = (field: string): Violation => ({ field, text: "VALUE_OBJECT", reason: "WRONG_TYPE" });
const many = (count: number, field = (n: number) => `a${n}`) =>
  Array.from({ length: count }, (_, n) => wrong(field(n)));

test("a message names ten fields at most, in 200 characters at most", () => {
  expect(namedFields(many(3))).toEqual({ fields: "a0, a1, a2", more: 0 });
  expect(namedFields(many(12))).toEqual({ fields: "a0, a1, a2, a3, a4, a5, a6, a7, a8, a9", more: 2 });
  expect(namedFields(many(12, () => "x".repeat(90)))).toEqual({
    fields: `${"x".repeat(90)}, ${"x".repeat(90)}`,
    more: 10,
  });
  expect(namedFields(many(2, () => "x".repeat(900)))).toEqual({ fields: `${"x".repeat(199)}…`, more: 1 });
});

const listIn = (error: ConnectError) => error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
const metadataIn = (error: ConnectError) => error.findDetails(ErrorInfoSchema)[0]?.metadata;

test("a refusal lists a hundred violations and says how many it leaves out", () => {
  const error = refuse.invalid(many(157));
  expect(listIn(error)).toHaveLength(100);
  expect(metadataIn(error)).toEqual({ fields: "a0, a1, a2, a3, a4, a5, a6, a7, a8, a9", more: "147", omitted: "57" });
  expect(error.rawMessage).toBe(errorText("VALIDATION_FAILED_AND_MORE", metadataIn(error)));
});

test("a refusal whose search ended early says that there may be more", () => {
  const error = refuse.invalid(many(1000));
  expect(metadataIn(error)).toMatchObject({ more: "990", omitted: "900", omittedIsLowerBound: "true" });
  expect(error.rawMessage).toMatch(/ and at least 990 more$/);
  expect(metadataIn(refuse.invalid(many(2), true))).toEqual({
    ...{ fields: "a0, a1", omitted: "0", omittedIsLowerBound: "true" },
  });
});

test("a refusal that lists everything says nothing of it", () => {
  expect(metadataIn(refuse.invalid(many(2)))).toEqual({ fields: "a0, a1" });
});

test("a refusal for the reason that all violations share says how many it leaves out as well", () => {
  const error = refuse.invalid(many(130).map((one) => ({ ...one, reason: "ROLE_UNKNOWN" })));
  expect(metadataIn(error)).toEqual({ omitted: "30" });
});

test("fewer violations leave the rest of a refusal as it is", () => {
  const error = localized(refuse.because("ROLE_UNKNOWN", { params: { projectId: "p" }, violations: many(120) }), "de");
  const fewer = withFewer(error, 7);
  expect(listIn(fewer)).toEqual(listIn(error).slice(0, 7));
  expect(metadataIn(fewer)).toEqual({ projectId: "p", omitted: "113" });
  expect(errorJson(fewer).details.map((one) => one["@type"].split(".").at(-1))).toEqual([
    ...["ErrorInfo", "BadRequest", "LocalizedMessage"],
  ]);
  expect(metadataIn(withFewer(fewer, 0))).toEqual({ projectId: "p", omitted: "120" });
  expect(withFewer(error, 100)).toBe(error);
});

describe.each([
  ["plain letters", "x"],
  ["control characters", "\u0001"],
  ["quotes", '"'],
  ["characters of three bytes", "好"],
  ["surrogate pairs", "🦊"],
  ["halves of pairs", "\ud83e"],
])("a refusal full of %s", (_kind, character) => {
  const text = character.repeat(1000);
  const violations = many(1000, () => text).map(
    (one) => ({ ...one, text: "FIELD_SAME", params: { other: text } }) as const,
  );
  const resource = { noun: "user", id: text };
  const params = { id: text, name: text, projectId: text, organizationId: text };
  const refusals = [
    refuse.invalid(violations),
    refuse.because("PROJECT_GRANT_NOT_FOUND", { params, violations, resource, retrySeconds: 1 }),
  ];

  test.each(refusals.map((error) => localized(error, "fr")))(
    "has at most 64 KiB as a body of each protocol",
    (error) => {
      expect(Buffer.byteLength(JSON.stringify(errorJson(error)))).toBeLessThanOrEqual(65_536);
      expect(Buffer.byteLength(JSON.stringify(errorToJson(error, undefined)))).toBeLessThanOrEqual(65_536);
      const trailers = Object.entries(statusOf(error))
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("");
      expect(Buffer.from(trailers).toString("base64").length + 16).toBeLessThanOrEqual(65_536);
      expect(countListed(error)).toBeGreaterThan(10);
    },
  );

  test.each(refusals.map((error) => localized(error, "fr")))("fits into headers of gRPC", (error) => {
    const headers = Object.entries(fittingStatusOf(error));
    const size = headers.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    expect(size).toBeLessThanOrEqual(7 * 1024);
    expect(headers.find(([name]) => name === "grpc-status")?.[1]).toBe(`${error.code}`);
    expect(headers.some(([name]) => name === "grpc-status-details-bin")).toBe(true);
  });
});

test("each violation has the text of the caller's language, as far as there is room", () => {
  const short = localized(refuse.invalid([{ field: "name", text: "FIELD_REQUIRED", reason: "REQUIRED" }]), "de");
  expect(listIn(short)[0]?.localizedMessage).toMatchObject({ locale: "de", message: text("FIELD_REQUIRED", "de") });
  const names = Array.from({ length: 150 }, (_, n) => "x".repeat(150) + n);
  const violations = names.map((field) => ({ field, text: "TEXT_MAX", params: { max: 200 }, reason: "MAX" }) as const);
  const long = localized(refuse.invalid(violations), "fr");
  const [first, last] = [listIn(long)[0], listIn(long).at(-1)];
  expect(first?.localizedMessage?.message).toBe(text("TEXT_MAX", "fr", { max: 200 }));
  expect(last?.localizedMessage).toBeUndefined();
  expect(Buffer.byteLength(JSON.stringify(errorToJson(long, undefined)))).toBeLessThan(64 * 1024);
});
