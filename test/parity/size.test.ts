import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { type Door, openDoors } from "./doors.ts";
import { methods } from "./play.ts";

let postern: Postern;
let doors: ReturnType<typeof openDoors>;
beforeAll(async () => {
  postern = await startPostern();
  doors = openDoors(postern.url);
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
  ["UserGrantService.AddUserGrants", 1_048_576, (userId) => ({ items: [{ userId }] })],
];

async function asked(door: Door, row: Row, given: { length: number; gzip?: boolean }) {
  const [rpc, , request] = row;
  const headers =
    rpc === "SessionService.CreateSession" ? {} : { authorization: `Bearer ${postern.config.adminToken}` };
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
        `the request is larger than ${limit} bytes, the most that this call takes`,
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

function methodOf([rpc]: Row) {
  const method = methods.get(rpc);
  if (!method) throw new Error(`there is no ${rpc}`);
  return method;
}
