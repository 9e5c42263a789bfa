import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { different, eventsOf, grantedWrites, keyedWrites } from "../fixture/keyed_writes.ts";
import { fixtureOf } from "../fixture/organization.ts";
import { callRest } from "../fixture/rest_call.ts";
import { type Postern, startPostern } from "../harness.ts";
import { openProbe, type Probe } from "../probe.ts";

let postern: Postern;
let granted: ReturnType<typeof grantedWrites>;
let probe: Probe;

beforeAll(async () => {
  postern = await startPostern();
  granted = grantedWrites(postern, await fixtureOf(postern, postern.organizationId));
  probe = openProbe(postern.databaseUrl);
});
afterAll(async () => {
  await probe[Symbol.asyncDispose]();
  await postern[Symbol.asyncDispose]();
});

const keyed = () => ({ "idempotency-key": randomUUID() });

// What a job does after the call that began it is not an effect of a later call.
async function eventCount(): Promise<number> {
  const [row] = await probe.sql`select count(*)::int as n from events where type <> 'organization.purged'`;
  return row?.n;
}

describe.each(keyedWrites)("$name", ({ method, name }) => {
  test("the same key and body answer the same and have one effect; another body is refused", async () => {
    const { client, request } = await granted(name);
    const before = await eventCount();
    const key = keyed();
    const first = await callRest(client, method, request, key);
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const again = await callRest(client, method, request, key);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await eventCount()) - before).toBe(eventsOf(name));
    if (method.input.fields.length === 0) return;
    const other = await callRest(client, method, different(name, request), key);
    expect([other.status, other.body.details[0].reason]).toEqual([400, "IDEMPOTENCY_KEY_REUSED"]);
    expect((await eventCount()) - before).toBe(eventsOf(name));
  });

  test("ten at once run once", async () => {
    const { client, request } = await granted(name);
    const before = await eventCount();
    const key = keyed();
    const answers = await Promise.all(Array.from({ length: 10 }, () => callRest(client, method, request, key)));
    expect(answers[0]?.status, JSON.stringify(answers[0]?.body)).toBe(200);
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]?.body]);
    expect((await eventCount()) - before).toBe(eventsOf(name));
  });
});
