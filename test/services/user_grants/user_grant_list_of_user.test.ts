import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, machine, type Postern, sharedPostern } from "../../harness.ts";

const perUser = 5;
const roleKeys = ["plain", 'quoted"one"', "NULL", "{braces}", "back\\slash", "com,ma"];

let postern: Postern;
const users: string[] = [];
const grantsOf = new Map<string, string[]>();
const projects: string[] = [];

beforeAll(async () => {
  postern = await sharedPostern();
  for (let n = 0; n < perUser; n++) {
    const { body } = await postern.admin.post("/v1/projects", { name: `Project ${randomUUID()}` });
    for (const key of roleKeys) await postern.admin.post(`/v1/projects/${body.projectId}/roles`, { key });
    projects.push(body.projectId);
  }
  for (let n = 0; n < 12; n++) {
    const { userId } = await machine(postern);
    users.push(userId);
    const ids: string[] = [];
    for (const projectId of projects) {
      const { body } = await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys });
      ids.push(body.userGrantId);
    }
    grantsOf.set(userId, ids);
  }
});
afterAll(() => postern[Symbol.asyncDispose]());

type Listed = { readonly id: string; readonly userId: string; readonly roleKeys: readonly string[] };

/** Reads all pages of a user's grants. */
async function listed(userId: string, size: number, order: string, client: Client = postern.admin): Promise<Listed[]> {
  const found: Listed[] = [];
  let pageToken = "";
  do {
    const query = new URLSearchParams({ pageSize: String(size), order, pageToken });
    const { body, status } = await client.get(`/v1/users/${userId}/grants?${query}`);
    expect(status).toBe(200);
    expect(body.userGrants.length).toBeLessThanOrEqual(size);
    found.push(...body.userGrants);
    pageToken = body.nextPageToken;
  } while (pageToken !== "");
  return found;
}

test("of lists that are read at the same time, each has the grants of its user in its order, page by page", async () => {
  const asked = users.flatMap((userId) =>
    [1, 2, 3, 100].flatMap((size) =>
      ["AGE_ORDER_NEWEST", "AGE_ORDER_OLDEST"].map((order) => ({ userId, size, order })),
    ),
  );
  const lists = await Promise.all(asked.map(({ userId, size, order }) => listed(userId, size, order)));
  for (const [at, { userId, order }] of asked.entries()) {
    const oldestFirst = grantsOf.get(userId) ?? [];
    const expected = order === "AGE_ORDER_OLDEST" ? oldestFirst : oldestFirst.toReversed();
    expect(lists[at]?.map(({ id }) => id)).toEqual(expected);
    for (const one of lists[at] ?? []) {
      expect(one.userId).toBe(userId);
      expect(one.roleKeys.toSorted()).toEqual(roleKeys.toSorted());
    }
  }
});

test("callers who see different projects ask at the same time, and each sees its own", async () => {
  const owners = await Promise.all(
    projects.map(async (projectId) => {
      const { userId, client } = await machine(postern);
      await postern.admin.post(`/v1/projects/${projectId}/members`, { userId, roles: ["PROJECT_OWNER"] });
      return { client, projectId };
    }),
  );
  const [userId = ""] = users;
  const lists = await Promise.all(
    owners.flatMap(({ client }) => [1, 100].map((size) => listed(userId, size, "AGE_ORDER_NEWEST", client))),
  );
  const all = grantsOf.get(userId) ?? [];
  for (const [at, found] of lists.entries()) expect(found.map(({ id }) => id)).toEqual([all[Math.floor(at / 2)]]);
});

test("a grant that was added or removed a moment ago is in the next list, or not", async () => {
  const { userId } = await machine(postern);
  const [projectId = ""] = projects;
  const ids = async () => (await listed(userId, 100, "AGE_ORDER_NEWEST")).map(({ id }) => id);
  for (let round = 0; round < 10; round++) {
    const { body } = await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["plain"] });
    const during = users.map((other) => listed(other, 2, "AGE_ORDER_NEWEST"));
    expect(await ids()).toEqual([body.userGrantId]);
    await postern.admin.delete(`/v1/user-grants/${body.userGrantId}`);
    expect(await ids()).toEqual([]);
    await Promise.all(during);
  }
});

test("the times of a grant are those of its events, to the millisecond", async () => {
  const [userId = ""] = users;
  const { body } = await postern.admin.get(`/v1/users/${userId}/grants`);
  for (const { id, details } of body.userGrants) {
    const one = await postern.admin.get(`/v1/user-grants/${id}`);
    expect(details).toEqual(one.body.userGrant.details);
  }
});
