import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type Client, machine, organization, type Postern, startPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const reasonOf = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];

const queryOf = (userIds: readonly string[], more: Record<string, string> = {}) =>
  new URLSearchParams([...userIds.map((id): [string, string] => ["userIds", id]), ...Object.entries(more)]);

async function listed(client: Client, query: URLSearchParams, headers = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let token = "", more = true; more; more = token !== "") {
    query.set("pageToken", token);
    const page = done(await client.get(`/v1/users?${query}`, headers));
    ids.push(...(page.users ?? []).map(({ id }: { id: string }) => id));
    token = page.nextPageToken ?? "";
  }
  return ids;
}

/** Two organizations with a user each, and their administrators. */
async function two() {
  const [ours, theirs] = [await organization(postern), await organization(postern)];
  const [our, their] = [
    await machine(postern, { organizationId: ours }),
    await machine(postern, { organizationId: theirs }),
  ];
  const reader = await machine(postern, { organizationId: ours });
  done(await postern.admin.post("/v1/members", { userId: reader.userId, roles: ["ORG_VIEWER"] }, inside(ours)));
  return { ours, theirs, our, their, reader };
}

test("users are listed by their ids, and an id that is missing and one of another organization are alike", async () => {
  const { our, their, reader } = await two();
  const ids = [our.userId, their.userId, "nobody", reader.userId];
  expect(await listed(reader.client, queryOf(ids))).toEqual([reader.userId, our.userId]);
  expect(await listed(reader.client, queryOf(ids, { order: "NAME_ORDER_OLDEST", pageSize: "1" }))).toEqual([
    our.userId,
    reader.userId,
  ]);
  expect(await listed(reader.client, queryOf(ids, { "filter.loginName": our.username }))).toEqual([our.userId]);
  expect(await listed(reader.client, queryOf(ids, { "filter.search": "robot" }))).toHaveLength(2);
  expect(await listed(reader.client, queryOf(["nobody"]))).toEqual([]);
  const many = (count: number) => queryOf(Array.from({ length: count }, (_, n) => `none${n}`));
  expect((await reader.client.get(`/v1/users?${many(100)}`)).status).toBe(200);
  expect(reasonOf(await reader.client.get(`/v1/users?${many(101)}`))).toEqual([400, "VALIDATION_FAILED"]);
  const byName = await reader.client.get(`/v1/users?${queryOf(ids, { order: "NAME_ORDER_ASCENDING" })}`);
  expect(reasonOf(byName)).toEqual([400, "VALIDATION_FAILED"]);
});

test("an owner of the instance lists users of all organizations, and nobody else does", async () => {
  const { theirs, our, their, reader } = await two();
  const everywhere = { instance: "true" };
  expect(await listed(postern.admin, queryOf([our.userId, their.userId, "nobody"], everywhere))).toEqual([
    their.userId,
    our.userId,
  ]);
  const all = await listed(postern.admin, queryOf([], { ...everywhere, pageSize: "2" }));
  expect(all.slice(0, 3)).toEqual([reader.userId, their.userId, our.userId]);
  expect(new Set(all).size).toBe(all.length);
  const oldest = await listed(postern.admin, queryOf([], { ...everywhere, order: "NAME_ORDER_OLDEST" }));
  expect(oldest).toEqual([...all].reverse());
  const named = queryOf([], { ...everywhere, "filter.loginName": their.username });
  expect(await listed(postern.admin, named)).toEqual([their.userId]);
  const owner = await machine(postern, { organizationId: theirs });
  done(await postern.admin.post("/v1/members", { userId: owner.userId, roles: ["ORG_OWNER"] }, inside(theirs)));
  for (const client of [reader.client, owner.client])
    expect((await client.get(`/v1/users?${queryOf([our.userId], everywhere)}`)).status).toBe(403);
  const viewer = await machine(postern);
  done(await postern.admin.post("/v1/members", { userId: viewer.userId, roles: ["INSTANCE_VIEWER"], instance: true }));
  expect(await listed(viewer.client, queryOf([our.userId], everywhere))).toEqual([our.userId]);
  const only = { permissions: ["instance.read"] };
  const limited = done(await postern.admin.post(`/v1/users/${viewer.userId}/tokens`, only)).token;
  expect((await postern.as(limited).get(`/v1/users?${queryOf([our.userId], everywhere)}`)).status).toBe(403);
  done(await postern.admin.delete(`/v1/organizations/${theirs}`));
  expect(await listed(postern.admin, queryOf([our.userId, their.userId], everywhere))).toEqual([our.userId]);
  expect(await listed(postern.admin, queryOf([], everywhere))).not.toContain(owner.userId);
});
