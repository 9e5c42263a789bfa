import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  sharedPostern,
  signedUp,
} from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

const within = (organizationId: string) => ({ "x-service-orgid": organizationId });

type Name = { readonly id: string; readonly kind: string; readonly name: string };

const namesOf = async (client: Client, ids: readonly string[], headers = {}) =>
  done(await client.post("/v1/names:get", { ids }, headers)).names as Name[];

const idsOf = async (client: Client, ids: readonly string[], headers = {}) =>
  (await namesOf(client, ids, headers)).map(({ id }) => id);

/** An organization with one object of each kind; its project is granted to another one. */
async function tenant({ grantedTo }: { grantedTo: string }) {
  const organizationId = await organization(postern);
  const here = within(organizationId);
  const made = async (path: string, body: object) => done(await postern.admin.post(path, body, here));
  const { userId, username } = await signedUp(postern, { organizationId });
  const { projectId } = await made("/v1/projects", { name: "Shop" });
  const { appId } = await made(`/v1/projects/${projectId}/applications/api`, { name: "Orders" });
  await made(`/v1/projects/${projectId}/roles`, { key: "viewer" });
  const lent = { grantedOrganizationId: grantedTo, roleKeys: ["viewer"] };
  const { projectGrantId } = await made(`/v1/projects/${projectId}/grants`, lent);
  const ids = [organizationId, userId, projectId, projectGrantId, appId];
  return { organizationId, here, userId, username, projectId, projectGrantId, appId, ids };
}

type Scope = { readonly projectId?: string; readonly projectGrantId?: string; readonly instance?: boolean };

/** Somebody with one role in an organization. */
async function holder(role: string, organizationId: string, scope: Scope = {}): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId, roles: [role], ...scope }, within(organizationId)));
  return client;
}

test("GetNames tells kind, name, login name and organization, in the order asked for", async () => {
  const partner = await organization(postern);
  const { organizationId, userId, username, projectId, projectGrantId, appId } = await tenant({ grantedTo: partner });
  const owner = await holder("ORG_OWNER", organizationId);
  const ids = [appId, projectGrantId, "no-such-object", userId, projectId, organizationId];
  const names = await namesOf(owner, ids);
  expect(names).toEqual([
    { id: appId, kind: "OBJECT_KIND_APPLICATION", name: "Orders", organizationId },
    { id: projectGrantId, kind: "OBJECT_KIND_PROJECT_GRANT", name: "Shop", organizationId },
    { id: userId, kind: "OBJECT_KIND_USER", name: "Ada Byron", loginName: username, organizationId },
    { id: projectId, kind: "OBJECT_KIND_PROJECT", name: "Shop", organizationId },
    {
      id: organizationId,
      kind: "OBJECT_KIND_ORGANIZATION",
      name: expect.stringMatching(/^Organization/),
      organizationId,
    },
  ]);
});

test("nobody reads names of another organization, by whatever role in their own", async () => {
  const { ids, here } = await tenant({ grantedTo: await organization(postern) });
  const elsewhere = await tenant({ grantedTo: await organization(postern) });
  for (const [role, scope] of [
    ["ORG_OWNER", {}],
    ["PROJECT_OWNER", { projectId: elsewhere.projectId }],
  ] as const) {
    const stranger = await holder(role, elsewhere.organizationId, scope);
    expect(await idsOf(stranger, ids)).toEqual([]);
    expect(await idsOf(stranger, ids, here)).toEqual([]);
  }
});

test("the owner of a project sees the users of its organization, and of other objects only the project's", async () => {
  const { organizationId, userId, projectId, projectGrantId, appId, here, ids } = await tenant({
    grantedTo: await organization(postern),
  });
  const other = done(await postern.admin.post("/v1/projects", { name: "Stock" }, here)).projectId;
  const otherApp = done(
    await postern.admin.post(`/v1/projects/${other}/applications/api`, { name: "Bins" }, here),
  ).appId;
  const foreign = (await signedUp(postern)).userId;
  const owner = await holder("PROJECT_OWNER", organizationId, { projectId });
  expect(await idsOf(owner, [...ids, other, otherApp, foreign])).toEqual([
    ...[organizationId, userId, projectId, projectGrantId, appId],
  ]);
  const evaluator = await holder("PROJECT_EVALUATOR", organizationId, { projectId });
  expect(await idsOf(evaluator, ids)).toEqual([]);
});

test("who administers a project grant sees the users who may get it, the project, and whose it is", async () => {
  const partner = await organization(postern);
  const lent = await tenant({ grantedTo: partner });
  const another = await tenant({ grantedTo: partner });
  const { userId } = await signedUp(postern, { organizationId: partner });
  const ids = [partner, userId, ...lent.ids, ...another.ids];
  const readable = ({ organizationId, projectId, projectGrantId }: typeof lent) => [
    ...[organizationId, projectId, projectGrantId],
  ];
  const owner = await holder("PROJECT_GRANT_OWNER", partner, {
    ...{ projectId: lent.projectId, projectGrantId: lent.projectGrantId },
  });
  expect((await idsOf(owner, ids)).sort()).toEqual([partner, userId, ...readable(lent)].sort());
  const ofAll = await holder("ORG_OWNER", partner);
  expect((await idsOf(ofAll, ids)).sort()).toEqual([partner, userId, ...readable(lent), ...readable(another)].sort());
});

test("a role on the instance reads names of every organization, and everybody reads their own", async () => {
  const partner = await organization(postern);
  const { ids } = await tenant({ grantedTo: partner });
  const viewer = await holder("INSTANCE_VIEWER", postern.organizationId, { instance: true });
  expect(await idsOf(viewer, ids)).toEqual(ids);
  const { userId, username, client } = await signedUp(postern, { organizationId: partner });
  expect(await namesOf(client, [userId, ...ids])).toMatchObject([{ id: userId, loginName: username }]);
});

test("a limited token reads the names that its permissions allow", async () => {
  const { organizationId, userId, ids, here } = await tenant({ grantedTo: await organization(postern) });
  const { userId: ownerId } = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId: ownerId, roles: ["ORG_OWNER"] }, here));
  const limited = async (...permissions: string[]) =>
    postern.as(done(await postern.admin.post(`/v1/users/${ownerId}/tokens`, { permissions })).token);
  expect(await idsOf(await limited("user.grant.read"), [...ids, ownerId])).toEqual([organizationId, userId, ownerId]);
  expect(await idsOf(await limited("event.read"), [...ids, ownerId])).toEqual([]);
});

test("what is deleted has no name any more", async () => {
  const { organizationId, userId, projectId, here, ids } = await tenant({ grantedTo: await organization(postern) });
  const owner = await holder("ORG_OWNER", organizationId);
  done(await postern.admin.delete(`/v1/users/${userId}`, here));
  done(await postern.admin.delete(`/v1/projects/${projectId}`, here));
  await expect.poll(() => idsOf(owner, ids)).toEqual([organizationId]);
});

test("a thousand names are asked for at once, each id a single time", async () => {
  const { organizationId } = await tenant({ grantedTo: await organization(postern) });
  const owner = await holder("ORG_OWNER", organizationId);
  const ids = Array.from({ length: 999 }, (_, n) => `none-${n}`);
  expect(await idsOf(owner, [...ids, organizationId])).toEqual([organizationId]);
  for (const wrong of [[...ids, "one", "two"], [organizationId, organizationId], []])
    expect((await owner.post("/v1/names:get", { ids: wrong })).status).toBe(400);
});
