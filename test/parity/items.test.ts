import { afterAll, beforeAll, expect, test } from "vitest";
import { errorText } from "../../src/messages/catalogue.ts";
import { type Postern, sharedPostern } from "../harness.ts";
import { type DoorCall, openDoors } from "./doors.ts";
import { methods } from "./play.ts";

let postern: Postern;
let doors: ReturnType<typeof openDoors>;
beforeAll(async () => {
  postern = await sharedPostern();
  doors = openDoors(postern.url);
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
});

const [addOne, addMany] = ["UserGrantService.AddUserGrant", "UserGrantService.AddUserGrants"];

/** The answers of every door of a format to the same bytes. */
async function violations(rpc: string, raw: NonNullable<DoorCall["raw"]>, request: DoorCall["request"] = {}) {
  const method = methods.get(rpc);
  if (!method) throw new Error(`there is no ${rpc}`);
  const headers = { authorization: `Bearer ${postern.config.adminToken}` };
  const open = doors.all.filter(({ format, shut }) => raw[format] !== undefined && shut(method) === undefined);
  const answers = await Promise.all(open.map((door) => door.ask({ method, request, headers, raw })));
  expect(answers.length).toBeGreaterThan(3);
  return [...new Set(answers.map(({ reason, violations }) => [reason, ...violations].join("\n")))];
}

const times = (count: number, ...bytes: number[]) => Buffer.alloc(count * bytes.length, Buffer.of(...bytes));
const list = (item: string, count: number) => `[${Array(count).fill(item).join(",")}]`;
const inner = (bytes: Buffer) => Buffer.concat([Buffer.of(0x0a, ...varint(bytes.length)), bytes]);
const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]);

const tooMany = (field: string) => `${field} REPEATED_MAX_ITEMS ${errorText("LIST_MAX", { max: 1000 })}`;

test("half a million items are refused in the words for a few too many, and nothing behind them is read", async () => {
  const refusal = [`VALIDATION_FAILED\n${tooMany("items")}`];
  // Behind the items comes a tag that no decoder takes, and a field that no request has.
  expect(await violations(addMany, { binary: Buffer.concat([times(500_000, 0x0a, 0), Buffer.of(7)]) })).toEqual(
    refusal,
  );
  expect(await violations(addMany, { json: `{"items":${list("{}", 300_000)},"nope":1}` })).toEqual(refusal);
  expect(await violations(addMany, { json: `{"items":${list("1", 500_000)}}` })).toEqual(refusal);
});

test("a few too many items are refused together with what else is wrong", async () => {
  const [binary] = await violations(addMany, { binary: times(1001, 0x0a, 0) });
  const [json] = await violations(addMany, { json: `{"items":${list("{}", 1001)}}` });
  expect(json).toBe(binary);
  expect(binary).toContain(tooMany("items"));
  expect(binary).toContain("items[0].userId REQUIRED");
});

test("a list inside of a list is named by its path", async () => {
  const refusal = [`VALIDATION_FAILED\n${tooMany("items[1].roleKeys")}\nitems REPEATED_MAX_INNER_ITEMS ${inAll}`];
  const binary = Buffer.concat([times(1, 0x0a, 0), inner(times(100_000, 0x22, 0)), Buffer.of(7)]);
  expect(await violations(addMany, { binary })).toEqual(refusal);
  expect(await violations(addMany, { json: `{"items":[{},{"roleKeys":${list('""', 100_000)}}],"nope":1}` })).toEqual(
    refusal,
  );
});

const inAll = errorText("LIST_MAX_INNER", { max: 10000 });

test("lists of which none is too long are refused when they are together", async () => {
  const refusal = [`VALIDATION_FAILED\nitems REPEATED_MAX_INNER_ITEMS ${inAll}`];
  const item = inner(times(1000, 0x22, 0));
  expect(await violations(addMany, { binary: Buffer.concat([...Array(100).fill(item), Buffer.of(7)]) })).toEqual(
    refusal,
  );
  const json = `{"items":${list(`{"roleKeys":${list('""', 1000)}}`, 100)},"nope":1}`;
  expect(await violations(addMany, { json })).toEqual(refusal);
});

test("a list in the body of a path is counted too", async () => {
  const request = { userId: "u" };
  const refusal = [`VALIDATION_FAILED\n${tooMany("roleKeys")}`];
  expect(await violations(addOne, { json: `{"roleKeys":${list('""', 80_000)},"nope":1}` }, request)).toEqual(refusal);
  expect(await violations(addOne, { binary: Buffer.concat([times(100_000, 0x22, 0), Buffer.of(7)]) })).toEqual(refusal);
});

test("a field that is there a hundred thousand times is no message of a client", async () => {
  const known = times(500_000, 0x10, 1);
  const unknown = times(500_000, 0x78, 1);
  for (const binary of [known, unknown]) expect(await violations(addMany, { binary })).toEqual(["MALFORMED_BODY"]);
});
