import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorText } from "../../src/messages/catalogue.ts";
import { type Postern, sharedPostern, signedUp } from "../harness.ts";
import { type Door, openDoors } from "./doors.ts";
import { methods } from "./play.ts";

let postern: Postern;
let doors: ReturnType<typeof openDoors>;
beforeAll(async () => {
  postern = await sharedPostern();
  doors = openDoors(postern.url);
  // Nobody is locked out for what is tried at many doors.
  await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 0 } });
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
});

/** An rpc, its limit in bytes, and a request that a text of any length fits into. */
type Row = readonly [rpc: string, limit: number, request: (text: string) => JsonObject];

const rows: readonly Row[] = [
  ["SessionService.CreateSession", 16_384, (password) => ({ loginName: "admin", password })],
  ["AccountService.ChangePassword", 24_576, (newPassword) => ({ oldPassword: "a", newPassword })],
  ["UserService.ChangePhone", 16_384, (phone) => ({ userId: "u", phone })],
  ["UserGrantService.AddUserGrant", 262_144, (key) => ({ userId: "u", projectId: "p", roleKeys: [key] })],
  ["ApplicationService.CreateOidcApplication", 262_144, (name) => ({ projectId: "p", name })],
  ["UserGrantService.AddUserGrants", 1_048_576, (userId) => ({ items: [{ userId }], allOrNothing: true })],
];

async function asked(door: Door, row: Row, given: { length: number; gzip?: boolean }) {
  const [rpc, , request] = row;
  const headers = rpc === "SessionService.CreateSession" ? {} : { authorization: `Bearer ${postern.admin.token}` };
  const packing = given.gzip ? { request: "gzip" } : undefined;
  return door.ask({ method: methodOf(row), request: request("a".repeat(given.length)), headers, packing });
}

/** The longest text that every format has room for, with 200 bytes for the rest of the message. */
const fitting = (limit: number) => limit - 200;

describe.each(rows)("%s takes %i bytes at every door", (...row) => {
  const [, limit] = row;

  test("one byte more is refused, with the limit", async () => {
    for (const door of doors.all.filter(({ shut }) => shut(methodOf(row)) === undefined)) {
      const { reason, message, details } = await asked(door, row, { length: limit + 1 });
      expect([door.name, reason, message]).toEqual([
        door.name,
        "BODY_TOO_LARGE",
        errorText("BODY_TOO_LARGE", { limit }),
      ]);
      expect(details, door.name).toContainEqual(expect.objectContaining({ metadata: { limit: String(limit) } }));
    }
  });

  test("it counts after decompression too", async () => {
    for (const door of doors.all.filter(({ shut }) => shut(methodOf(row)) === undefined)) {
      const { reason, details } = await asked(door, row, { length: limit + 1, gzip: true });
      expect([door.name, reason]).toEqual([door.name, "BODY_TOO_LARGE"]);
      expect(details, door.name).toContainEqual(expect.objectContaining({ metadata: { limit: String(limit) } }));
    }
  });

  test("within it, a text that is too long is a violation of its field", async () => {
    for (const door of doors.all.filter(({ shut }) => shut(methodOf(row)) === undefined)) {
      const { reason, violations } = await asked(door, row, { length: fitting(limit) });
      expect([door.name, reason]).toEqual([door.name, "VALIDATION_FAILED"]);
      expect(violations.join(), door.name).toContain("STRING_MAX_LEN");
    }
  });
});

/** JSON as the most wasteful writer sends it: indented, with every character outside of ASCII escaped. */
const escaped = (request: JsonObject) =>
  JSON.stringify(request, undefined, 4).replace(
    /[^\x20-\x7e\n]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const texts = (count: number, length: number, prefix = "") =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}-`.padEnd(length, "a"));
const wide = (length: number) => "\u{1d4b3}".repeat(length);

/** The largest request of each operation: by the rules, or where the contract states less, every list in full in ASCII. */
const largest: readonly (readonly [
  rpc: string,
  bytes: number,
  says: string,
  request: (projectId: string) => JsonObject,
])[] = [
  [
    ...(["AccountService.ChangePassword", 24_000, "PASSWORD_MISMATCH"] as const),
    () => ({ oldPassword: wide(1000), newPassword: wide(1000) }),
  ],
  [
    ...(["ApplicationService.CreateOidcApplication", 210_000, ""] as const),
    (projectId) => ({
      ...{ projectId, name: wide(200), clockSkew: "1s", devMode: true, validateOnly: true },
      redirectUris: texts(100, 1000, "https://a.example/"),
      postLogoutRedirectUris: texts(100, 1000, "https://a.example/"),
      additionalOrigins: Array.from(
        { length: 100 },
        (_, index) => `https://a${index}.${"x".repeat(60)}.${"y".repeat(60)}.example`,
      ),
    }),
  ],
  [
    ...(["UserService.ChangePhone", 4_800, "USER_NOT_FOUND"] as const),
    () => ({ userId: wide(200), phone: wide(200), isVerified: true }),
  ],
  [
    ...(["UserGrantService.AddUserGrant", 200_000, "ROLE_UNKNOWN"] as const),
    (projectId) => ({ userId: postern.adminId, projectId, roleKeys: texts(1000, 200) }),
  ],
  [
    ...(["UserGrantService.AddUserGrants", 500_000, ""] as const),
    (projectId) => ({
      items: Array.from({ length: 1000 }, () => ({ userId: "u", projectId, roleKeys: texts(10, 24) })),
    }),
  ],
];

test.each(largest)("the largest request of %s is not too large at any door", async (rpc, bytes, says, request) => {
  const created = await postern.admin.post("/v1/projects", { name: `Largest ${rpc}` });
  const method = methods.get(rpc);
  if (!method) throw new Error(`there is no ${rpc}`);
  const whole = request(created.body.projectId);
  const json = escaped(whole);
  expect(json.length).toBeGreaterThan(bytes);
  for (const door of doors.all.filter(({ shut }) => shut(method) === undefined)) {
    // Wrong old passwords are counted: each door is tried by another user.
    const token = rpc === "AccountService.ChangePassword" ? await tokenOfNewUser() : postern.admin.token;
    const headers = { authorization: `Bearer ${token}` };
    const { reason = "", violations } = await door.ask({ method, request: whole, headers, raw: { json } });
    expect([door.name, reason, violations.filter((one) => /MAX|LEN/.test(one))]).toEqual([door.name, says, []]);
  }
});

async function tokenOfNewUser(): Promise<string> {
  const { userId } = await signedUp(postern);
  return (await postern.admin.post(`/v1/users/${userId}/tokens`)).body.token;
}

function methodOf([rpc]: Row) {
  const method = methods.get(rpc);
  if (!method) throw new Error(`there is no ${rpc}`);
  return method;
}
