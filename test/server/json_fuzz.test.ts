import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seeded } from "../../packages/gateway/test/http/http2/seeded.ts";
import { type Postern, sharedPostern } from "../harness.ts";

let postern: Postern;

beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** Requests that are valid as far as JSON and types go, by their rpc. */
const valid: readonly (readonly [rpc: string, request: JsonObject])[] = [
  ["SessionService/CreateSession", { loginName: "nobody", password: "Blue-Kettle-42" }],
  ["ProjectService/ListProjects", { pageSize: 3, pageToken: "" }],
  ["EventService/ListEvents", { since: "2024-02-29T00:00:00Z", types: ["user.created"], pageSize: "10" }],
  ["PolicyService/SetPasswordPolicy", { policy: { minimumLength: 9, historyDepth: 1 } }],
  ["PolicyService/SetLockoutPolicy", { policy: { maximumAttempts: 1000, lockDuration: "60s" } }],
  [
    "UserGrantService/AddUserGrants",
    { items: [{ userId: "u", projectId: "p", roleKeys: ["a", "b"] }], allOrNothing: true },
  ],
  [
    "ApplicationService/CreateOidcApplication",
    {
      ...{ projectId: "none", name: "Portal", redirectUris: ["https://app.example.com/callback"] },
      ...{ grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", 1], clockSkew: "1.5s", devMode: false },
    },
  ],
];

type Random = (bound: number) => number;

const one = <T>(random: Random, of: readonly T[]): T => of[random(of.length)] as T;

const keys = [
  ...[
    "__proto__",
    "constructor",
    "toString",
    "valueOf",
    "toJSON",
    "then",
    "length",
    "hasOwnProperty",
    "",
    "@type",
    "0",
  ],
  ...["name", "items", "policy", "page_size", "[postern.v1.trim]", "\ud800", "\u0000", "a.b", "a[0]", "x".repeat(5000)],
];

/** Objects whose keys are the names of what every object of JavaScript has. */
const odd: readonly JsonValue[] = [
  ...[{ toString: 1 }, [{ toString: null }], { valueOf: 1, toString: 1 }, { toJSON: 1 }, { length: 9 }],
  ...JSON.parse('[{"__proto__":{"toString":1}},{"then":{}}]'),
];

const leaves: readonly JsonValue[] = [
  ...[null, true, 0, -0, 1.5, -1, 1e300, 2 ** 31, 2 ** 53, "", "1", "1e3", " 1", "NaN", "0x10", "9".repeat(400)],
  ...["\ud800", "\u0000", "🦊".repeat(500), "2024-02-30T00:00:00Z", "9".repeat(30), "5sec", "-0s", "x".repeat(10_000)],
];

function hostile(random: Random, depth = 0): JsonValue {
  switch (depth > 3 ? 0 : random(6)) {
    case 0:
    case 1:
      return one(random, leaves);
    case 2:
      return one(random, odd);
    case 3:
      return Array.from({ length: one(random, depth > 0 ? [0, 1, 3] : [0, 1, 3, 300]) }, () =>
        hostile(random, depth + 2),
      );
    case 4:
      return entries(random, one(random, depth > 0 ? [1, 2] : [1, 2, 300]), depth);
    default:
      return nested(one(random, [2, 50, 99, 100, 101, 200]), random(2) === 0);
  }
}

const entries = (random: Random, count: number, depth: number): JsonObject =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      n < 2 ? one(random, keys) : `k${n}${"x".repeat(500)}`,
      hostile(random, depth + 2),
    ]),
  );

const nested = (depth: number, inLists: boolean): JsonValue =>
  JSON.parse(inLists ? "[".repeat(depth) + "]".repeat(depth) : `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);

/** The value with something in it replaced, renamed or added. */
function mutated(random: Random, value: JsonValue, replaces = 4): JsonValue {
  if (typeof value !== "object" || value === null || random(replaces) === 0) return hostile(random);
  if (Array.isArray(value)) {
    const at = random(value.length + 1);
    return [...value.slice(0, at), mutated(random, value[at] ?? null), ...value.slice(at + 1)];
  }
  const names = Object.keys(value);
  const name = names.length === 0 || random(4) === 0 ? one(random, keys) : one(random, names);
  const inside = mutated(random, Object.hasOwn(value, name) ? (value[name] ?? null) : null);
  const others = Object.entries(value).filter(([key]) => key !== name || random(3) > 0);
  return Object.fromEntries([...others, [random(6) === 0 ? one(random, keys) : name, inside]]);
}

/** The text with some of its bytes repeated, taken out or replaced: keys that are there twice, and what is no JSON. */
function torn(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text);
  const [from, to] = [random(bytes.length + 1), random(bytes.length + 1)].sort((a, b) => a - b) as [number, number];
  const [before, part, after] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)];
  switch (random(4)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return Buffer.concat([before, part, part, after]);
    case 2:
      return Buffer.concat([before, Buffer.of(random(256)), after]);
    default:
      return Buffer.from(text.replace(/"(\w+)":/, (key) => `${key}${one(random, ["1", "[]", '{"a":1}'])},${key}`));
  }
}

function bodyOf(random: Random, request: JsonObject): Buffer {
  let value: JsonValue = request;
  for (let times = 1 + random(3); times > 0; times -= 1) value = mutated(random, value, 30);
  const text = JSON.stringify(value);
  return random(3) === 0 ? torn(random, text) : Buffer.from(text);
}

const seeds = Array.from({ length: 6 }, (_, n) => 20_260_700 + n);

test.each(seeds)("JSON that is mutated by seed %i is answered or refused, and no refusal is long", async (seed) => {
  const random = seeded(seed);
  for (let n = 0; n < 60; n += 1) {
    const [rpc, request] = one(random, valid);
    const body = bodyOf(random, request);
    const headers = {
      ...{ authorization: `Bearer ${postern.admin.token}`, "content-type": "application/json" },
      ...(random(3) === 0 && { "connect-protocol-version": "1" }),
      ...(random(3) === 0 && { "accept-language": "fr" }),
    };
    const answer = await fetch(`${postern.url}/postern.v1.${rpc}`, {
      method: "POST",
      headers,
      body: new Uint8Array(body),
    });
    const text = await answer.text();
    const at = `case ${n} of seed ${seed}: ${rpc} ${body.toString("latin1").slice(0, 2000)}`;
    expect([200, 400, 401, 403, 404, 409, 413, 429], at).toContain(answer.status);
    if (answer.status !== 200) expect(text.length, at).toBeLessThanOrEqual(65_536);
    expect(JSON.parse(text), at).toBeTypeOf("object");
  }
});
