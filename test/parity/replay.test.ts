import { randomUUID } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { different, eventsOf, grantedWrites, keyedWrites } from "../fixture/keyed_writes.ts";
import { fixtureOf } from "../fixture/organization.ts";
import { type Postern, startPostern } from "../harness.ts";
import { openProbe, type Probe } from "../probe.ts";
import { type Door, openDoors } from "./doors.ts";

let postern: Postern;
let probe: Probe;
let doors: ReturnType<typeof openDoors>;
let granted: ReturnType<typeof grantedWrites>;

beforeAll(async () => {
  postern = await startPostern();
  granted = grantedWrites(postern, await fixtureOf(postern, postern.organizationId));
  probe = openProbe(postern.databaseUrl);
  doors = openDoors(postern.url);
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await probe?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

async function eventCount(): Promise<number> {
  const [row] = await probe.sql`select count(*)::int as n from events where type <> 'organization.purged'`;
  return row?.n;
}

/** The doors that take a write, a different one first for each rpc. */
function doorsFor(method: DescMethod, turn: number): Door[] {
  const open = doors.all.filter((door) => door.shut(method) === undefined);
  const first = turn % open.length;
  return [...open.slice(first), ...open.slice(0, first)];
}

test.each(keyedWrites.map(({ name, method }, turn) => [name, method, turn] as const))(
  "%s: what was done through one door is answered again through every other, and done once",
  async (name, method, turn) => {
    const { client, request } = await granted(name);
    const headers = { authorization: `Bearer ${client.token}`, "idempotency-key": randomUUID() };
    const [first, ...others] = doorsFor(method, turn);
    const ask = (door: Door | undefined, asked: object) =>
      door?.ask({ method, headers, request: JSON.parse(JSON.stringify(asked)) });
    const before = await eventCount();
    const done = await ask(first, request);
    expect(done?.code, JSON.stringify(done)).toBe("OK");
    for (const door of others) {
      const { code, body } = (await ask(door, request)) ?? {};
      expect([code, body], `${first?.name}, then ${door.name}`).toEqual(["OK", done?.body]);
    }
    for (const door of method.input.fields.length > 0 ? others : [])
      expect((await ask(door, different(name, request)))?.reason, door.name).toBe("IDEMPOTENCY_KEY_REUSED");
    expect((await eventCount()) - before).toBe(eventsOf(name));
  },
);
