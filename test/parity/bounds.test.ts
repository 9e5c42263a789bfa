import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { errorText, text } from "../../src/messages/catalogue.ts";
import { type Language, languages } from "../../src/messages/language.ts";
import { type Postern, sharedPostern } from "../harness.ts";
import { frame } from "../wire/frame.ts";
import { fieldsOf, type HttpRequest, type HttpResponse } from "../wire/http.ts";
import { connectHttp1 } from "../wire/http1.ts";
import { connectHttp2 } from "../wire/http2.ts";
import { type Door, type DoorAnswer, openDoors } from "./doors.ts";

const { addUserGrants: method } = UserGrantService.method;
const { watchEvents } = EventService.method;

/** An object with so many keys. */
const keys = (count: number, key: (n: number) => string): string =>
  `{${Array.from({ length: count }, (_, n) => `${JSON.stringify(key(n))}:1`).join(",")}}`;

/** A key of so many characters, under which keys are there twice. */
const repeated = (length: number, pairs: number): string =>
  `{"${"A".repeat(length)}":{${Array.from({ length: pairs }, (_, n) => `"a${n}":1,"a${n}":1`).join(",")}}}`;

type Case = {
  readonly body: string;
  /** The number of violations; the missing items of the batch are one of them. */
  readonly found: number;
  readonly isLowerBound?: boolean;
};

const cases: readonly [name: string, wrong: Case][] = [
  ["1,000 keys twice under a key of 20,000 characters", { body: repeated(20_000, 1000), found: 2 }],
  ["100 keys twice under a key of 100,000 characters", { body: repeated(100_000, 100), found: 2 }],
  ["1,000 keys twice under a key of 100,000 characters", { body: repeated(100_000, 1000), found: 2 }],
  ["157 unknown keys", { body: keys(157, (n) => `k${n}`), found: 158 }],
  ["5,000 unknown keys", { body: keys(5000, (n) => `k${n}`), found: 1000, isLowerBound: true }],
  ["150 long keys", { body: keys(150, (n) => `${n}${"x".repeat(500)}`), found: 151 }],
  ["150 long keys of control characters", { body: keys(150, (n) => `${n}${"\u0001".repeat(500)}`), found: 151 }],
  ["150 long keys of three bytes a character", { body: keys(150, (n) => `${n}${"好".repeat(500)}`), found: 151 }],
  ["150 long keys of surrogate pairs", { body: keys(150, (n) => `${n}${"🦊".repeat(300)}`), found: 151 }],
  ["150 keys of half a pair", { body: keys(150, (n) => `${n}${"\ud83e".repeat(300)}`), found: 151 }],
  ["2,000 items that are no objects", { body: `{"items":[${"1,".repeat(1999)}1]}`, found: 1000, isLowerBound: true }],
];

type Metadata = { readonly omitted?: string; readonly omittedIsLowerBound?: string };
type Listed = { readonly field: string; readonly description: string };
type Detail = { readonly metadata?: Metadata; readonly fieldViolations?: readonly Listed[] };

function detailsIn(details: readonly unknown[]) {
  const all = details as readonly Detail[];
  const metadata: Metadata = all.find((one) => one.metadata)?.metadata ?? {};
  return { metadata, violations: all.flatMap((one) => one.fieldViolations ?? []) };
}

const mostBodyBytes = 64 * 1024;
// The limit of gRPC clients: https://grpc.io/docs/guides/metadata.
const mostHeaderBytes = 8 * 1024;

function expectFitting(response: HttpResponse, at: string): void {
  expect(response.body.length, at).toBeLessThanOrEqual(mostBodyBytes);
  const headers = Object.entries(fieldsOf(response)).reduce(
    (sum, [name, value]) => sum + name.length + value.length + 32,
    0,
  );
  expect(headers, at).toBeLessThanOrEqual(mostHeaderBytes);
}

const textsIn = (value: unknown): string[] =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(textsIn)
      : [];

function expectBounded(answer: DoorAnswer, { found, isLowerBound }: Case, at: string): void {
  const { metadata, violations } = detailsIn(answer.details);
  expect([answer.code, answer.reason], at).toEqual(["InvalidArgument", "VALIDATION_FAILED"]);
  expect(violations.length, at).toBeLessThanOrEqual(100);
  expect(violations.length + Number(metadata.omitted ?? 0), at).toBe(found);
  expect(metadata.omittedIsLowerBound, at).toBe(isLowerBound ? "true" : undefined);
  for (const text of textsIn(answer.details)) {
    expect(text.length, at).toBeLessThanOrEqual(200);
    expect(text.isWellFormed(), at).toBe(true);
  }
}

let postern: Postern;
let doors: ReturnType<typeof openDoors>;
let response: HttpResponse | undefined;

beforeAll(async () => {
  postern = await sharedPostern();
  doors = openDoors(postern.url, (one) => {
    response = one;
  });
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
});

const ask = (door: Door, asking: Partial<Parameters<Door["ask"]>[0]>): Promise<DoorAnswer> =>
  door.ask({ method, request: {}, headers: { authorization: `Bearer ${postern.admin.token}` }, ...asking });

test.each(cases)("%s are refused by a bounded answer", async (_name, wrong) => {
  // A query has no room for them.
  const open = doors.all.filter(({ name, format }) => format === "json" && !name.startsWith("Connect GET"));
  const answers: DoorAnswer[] = [];
  for (const door of open) {
    const answer = await ask(door, { raw: { json: wrong.body } });
    expectBounded(answer, wrong, door.name);
    if (response) expectFitting(response, door.name);
    answers.push(answer);
  }
  const [first] = answers;
  const lists = answers.map((answer) => detailsIn(answer.details).violations);
  const longest = lists.reduce((one, other) => (other.length > one.length ? other : one));
  for (const [at, answer] of answers.entries()) {
    expect(answer.message).toBe(first?.message);
    expect(lists[at]).toEqual(longest.slice(0, lists[at]?.length));
    // Only where the list has to fit into headers it is shorter.
    if (!open[at]?.name.startsWith("gRPC JSON")) expect(lists[at]).toEqual(longest);
    else expect(lists[at]?.length).toBeGreaterThan(0);
  }
});

test("120 items without their two ids are refused alike at every door, and each says how many it leaves out", async () => {
  // Of a batch that is not all or nothing each of them is an outcome.
  const request = { items: Array.from({ length: 120 }, () => ({})), allOrNothing: true };
  const fields = [0, 1, 2, 3, 4].flatMap((n) => [`items[${n}].userId`, `items[${n}].projectId`]).join(", ");
  const said = errorText("VALIDATION_FAILED_AND_MORE", { fields, more: 230 });
  for (const door of doors.all.filter((one) => one.shut(method) === undefined)) {
    const answer = await ask(door, { request });
    expectBounded(answer, { body: "", found: 240 }, door.name);
    if (response) expectFitting(response, door.name);
    expect(answer.message, door.name).toBe(said);
  }
});

test("the message says in each language how many fields it does not name", async () => {
  const [door] = doors.all;
  const message = async (language: Language, count: number) => {
    const headers = { authorization: `Bearer ${postern.admin.token}`, "accept-language": language };
    const answer = door && (await ask(door, { headers, raw: { json: keys(count, (n) => `k${n}`) } }));
    return answer?.details.map((one) => (one as JsonObject).message).at(-1);
  };
  const fields = Array.from({ length: 10 }, (_, n) => `k${n}`).join(", ");
  for (const language of languages)
    expect(await message(language, 11)).toBe(text("VALIDATION_FAILED_AND_MORE", language, { fields, more: 2 }));
  expect(await message("de", 2000)).toBe(text("VALIDATION_FAILED_AT_LEAST", "de", { fields, more: 990 }));
});

test("query parameters that are unknown, or there too often, are refused by a bounded answer", async () => {
  using client = connectHttp1(postern.url);
  const headers = { authorization: `Bearer ${postern.admin.token}` };
  for (const query of [names(1500).join("&"), `${"x".repeat(15_000)}=1`, Array(1200).fill("pageSize=1").join("&")]) {
    const answer = await client.send({ method: "GET", path: `/v1/projects?${query}`, headers, body: Buffer.of() });
    expectFitting(answer, query.slice(0, 20));
    const { details } = JSON.parse(answer.body.toString());
    const { metadata, violations } = detailsIn(details);
    expect(violations.length).toBeLessThanOrEqual(100);
    const found = violations.length + Number(metadata.omitted ?? 0);
    expect(found).toBe(query.startsWith("x") ? 1 : 1000);
  }
});

test("a stream is refused by a bounded answer", async () => {
  for (const [door, request] of streams(keys(157, (n) => `k${n}`))) {
    using client = (door === "gRPC" ? connectHttp2 : connectHttp1)(postern.url);
    const authorization = `Bearer ${postern.admin.token}`;
    const answer = await client.send({ ...request, headers: { ...request.headers, authorization } });
    expectFitting(answer, door);
    expect(answer.body.toString() + (fieldsOf(answer)["grpc-message"] ?? ""), door).toMatch(/and(%20| )147(%20| )more/);
  }
});

const names = (count: number) => Array.from({ length: count }, (_, n) => `a${n}=1`);

/** A request for a stream in each protocol that carries JSON. */
function streams(json: string): readonly [string, HttpRequest][] {
  const body = Buffer.from(json);
  const path = `/${watchEvents.parent.typeName}/${watchEvents.name}`;
  const post = (type: string, bytes: Buffer): HttpRequest => ({
    ...{ method: "POST", path, headers: { "content-type": type }, body: bytes },
  });
  return [
    ["plain JSON", post("application/json", body)],
    ["Connect", post("application/connect+json", frame(body))],
    ["gRPC-Web", post("application/grpc-web+json", frame(body))],
    ["gRPC", post("application/grpc+json", frame(body))],
  ];
}
