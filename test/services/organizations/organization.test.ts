import { afterAll, beforeAll, expect, test } from "vitest";
import { permissions, permissionsOf } from "../../../src/guards/permissions.ts";
import { type Answer, machine, type Postern, sharedPostern, signedUp } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const unique = () => crypto.randomUUID().slice(0, 12);
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

test("a new organization has its first owner at once, by one write", async () => {
  const { userId, client } = await signedUp(postern);
  const { organizationId, details } = done(
    await postern.admin.post("/v1/organizations", { name: unique(), ownerUserId: userId }),
  );
  const { members } = done(await client.get("/v1/members", inside(organizationId)));
  expect(members).toMatchObject([{ userId, roles: ["ORG_OWNER"], organizationId, details: { sequence: "1" } }]);
  const { events } = done(await client.get("/v1/events", inside(organizationId)));
  expect(events.map(({ type }: { type: string }) => type).sort()).toEqual(["member.added", "organization.created"]);
  expect(new Set(events.map(({ requestId }: { requestId: string }) => requestId)).size).toBe(1);
  expect(events.every(({ time }: { time: string }) => time === details.creationDate)).toBe(true);
  done(await client.post("/v1/projects", { name: unique() }, inside(organizationId)));
  const last = await postern.admin.delete(`/v1/members/${userId}`, inside(organizationId));
  expect(refused(last)).toEqual([400, "LAST_OWNER"]);
});

test("`me` is the caller, nobody is nobody, and an unknown owner leaves no organization", async () => {
  const { organizationId } = done(await postern.admin.post("/v1/organizations", { name: unique(), ownerUserId: "me" }));
  const { members } = done(await postern.admin.get("/v1/members", inside(organizationId)));
  expect(members).toMatchObject([{ userId: postern.adminId }]);
  const alone = done(await postern.admin.post("/v1/organizations", { name: unique() }));
  expect(done(await postern.admin.get("/v1/members", inside(alone.organizationId))).members).toEqual([]);
  const name = unique();
  const unknown = await postern.admin.post("/v1/organizations", { name, ownerUserId: "nobody" });
  expect(refused(unknown)).toEqual([404, "USER_NOT_FOUND"]);
  done(await postern.admin.post("/v1/organizations", { name }));
});

test("a limited token makes no owner unless it holds every permission of one", async () => {
  const [{ userId }, owner] = [await machine(postern), await machine(postern)];
  done(await postern.admin.post("/v1/members", { userId: owner.userId, roles: ["INSTANCE_OWNER"], instance: true }));
  const limited = async (only: readonly string[]) =>
    postern.as(done(await postern.admin.post(`/v1/users/${owner.userId}/tokens`, { permissions: only })).token);
  const few = await limited(["instance.write", "member.write"]);
  done(await few.post("/v1/organizations", { name: unique() }));
  const wanted = () => ({ name: unique(), ownerUserId: userId });
  expect(refused(await few.post("/v1/organizations", wanted()))).toEqual([403, "PERMISSION_DENIED"]);
  const enough = await limited(["instance.write", ...permissionsOf(["ORG_OWNER"])]);
  done(await enough.post("/v1/organizations", wanted()));
  expect(permissions.length).toBeGreaterThan(permissionsOf(["ORG_OWNER"]).size);
});

test("an owner who is deleted meanwhile is refused, or made an owner and then deleted", async () => {
  for (let round = 0; round < 10; round++) {
    const { userId } = await machine(postern);
    const name = unique();
    const [created, deleted] = await Promise.all([
      postern.admin.post("/v1/organizations", { name, ownerUserId: userId }),
      postern.admin.delete(`/v1/users/${userId}`),
    ]);
    if (created.status !== 200) {
      expect([refused(created), deleted.status]).toEqual([[404, "USER_NOT_FOUND"], 200]);
      done(await postern.admin.post("/v1/organizations", { name }));
    } else {
      expect(deleted.status).toBe(200);
      const { members } = done(await postern.admin.get("/v1/members", inside(created.body.organizationId)));
      expect(members).toEqual([]);
    }
  }
});

test("a name that another organization has is refused without naming that one, but to its own and to the instance", async () => {
  const name = unique();
  const { organizationId: named } = done(await postern.admin.post("/v1/organizations", { name }));
  const { userId, client } = await signedUp(postern);
  const { organizationId } = done(
    await postern.admin.post("/v1/organizations", { name: unique(), ownerUserId: userId }),
  );
  const rename = (by: typeof client) =>
    by.call("PATCH", `/v1/organizations/${organizationId}`, { name }, inside(organizationId));
  const byOwner = await rename(client);
  expect(refused(byOwner)).toEqual([409, "ORGANIZATION_NAME_TAKEN"]);
  expect(JSON.stringify(byOwner.body)).not.toContain(named);
  expect(JSON.stringify((await rename(postern.admin)).body)).toContain(named);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, inside(named)));
  expect(JSON.stringify((await rename(client)).body)).toContain(named);
});

test("the ids of users and clients stay used when their organization is deleted, whatever creates the next one", async () => {
  const { organizationId } = done(await postern.admin.post("/v1/organizations", { name: unique() }));
  const there = inside(organizationId);
  const robot = () => ({ username: unique(), name: "Robot" });
  const person = () => ({ username: unique(), givenName: "A", familyName: "B", email: `${unique()}@example.com` });
  const client = (name: string) => ({ name, redirectUris: ["https://app.example/"] });
  const userId = `chosen-${unique()}`;
  done(await postern.admin.post("/v1/users/machine", { ...robot(), userId }, there));
  const generated = done(await postern.admin.post("/v1/users/machine", robot(), there)).userId;
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique() }, there));
  const clientId = `client-${unique()}`;
  const apps = `/v1/projects/${projectId}/applications/oidc`;
  done(await postern.admin.post(apps, { ...client("one"), clientId }, there));
  const generatedClient = done(await postern.admin.post(apps, client("two"), there)).clientId;
  done(await postern.admin.delete(`/v1/organizations/${organizationId}`));
  await expect
    .poll(async () => {
      const { events } = done(await postern.admin.get(`/v1/events?instance=true&objectId=${organizationId}`));
      return events.map(({ type }: { type: string }) => type);
    })
    .toContain("organization.purged");

  const mine = done(await postern.admin.post("/v1/projects", { name: unique() })).projectId;
  for (const id of [userId, generated]) {
    const again = [
      await postern.admin.post("/v1/users/machine", { ...robot(), userId: id }),
      await postern.admin.post("/v1/users/human", { ...person(), userId: id }),
    ];
    expect(again.map(refused)).toEqual(again.map(() => [409, "ID_TAKEN"]));
    for (const item of [{ machine: { ...robot(), userId: id } }, { human: { ...person(), userId: id } }]) {
      const { outcomes } = done(await postern.admin.post("/v1/users:batchCreate", { items: [item] }));
      expect(outcomes[0].refused.details[0].reason).toBe("ID_TAKEN");
    }
  }
  for (const id of [clientId, generatedClient]) {
    const again = await postern.admin.post(`/v1/projects/${mine}/applications/oidc`, {
      ...client(unique()),
      clientId: id,
    });
    expect(refused(again)).toEqual([409, "ID_TAKEN"]);
    expect(JSON.stringify(again.body)).not.toContain(organizationId);
  }
});
