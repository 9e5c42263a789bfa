import { afterAll, beforeAll, expect, test } from "vitest";
import { machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern({ hashConcurrency: 1, hashQueue: 8 });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

async function some(count: number, organizationId: string) {
  const users: Awaited<ReturnType<typeof signedUp>>[] = [];
  for (let n = 0; n < count; n++) users.push(await signedUp(postern, { organizationId }));
  return users;
}

test("an organization that sets passwords without end keeps nobody from changing one's own", async () => {
  const busy = await organization(postern);
  const headers = { "x-service-orgid": busy };
  const { userId, client: owner } = await machine(postern, { organizationId: busy });
  const member = { userId, roles: ["ORG_OWNER"] };
  expect((await postern.admin.post("/v1/members", member, headers)).status).toBe(200);
  const targets = await some(20, busy);
  const people = await some(5, postern.organizationId);

  let isOver = false;
  const statuses = new Set<number>();
  const flood = targets.map(async (target) => {
    while (!isOver) {
      const body = { newPassword: `Green-Kettle-${Math.random()}` };
      statuses.add((await owner.put(`/v1/users/${target.userId}/password`, body, headers)).status);
    }
  });
  await expect.poll(() => [...statuses].sort()).toEqual([200, 429]);
  for (const { password, client } of people) {
    const answer = await client.put("/v1/users/me/password", { oldPassword: password, newPassword: "Red-Kettle-43" });
    expect([answer.status, answer.body.details?.[0]?.reason]).toEqual([200, undefined]);
  }
  isOver = true;
  await Promise.all(flood);
});
