import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  signedUp,
  startPostern,
} from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern({ signInFailuresPerAddressPerMinute: 5 });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const reasonOf = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const within = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** An organization with a user and a project that is granted to another organization, and the owners of both sides. */
async function lending() {
  const [organizationId, partner] = [await organization(postern), await organization(postern)];
  const here = within(organizationId);
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: "Shop" }, here));
  const lent = { grantedOrganizationId: partner };
  const { projectGrantId } = done(await postern.admin.post(`/v1/projects/${projectId}/grants`, lent, here));
  const owner = await holder("PROJECT_OWNER", organizationId, { projectId });
  const grantOwner = await holder("PROJECT_GRANT_OWNER", partner, { projectId, projectGrantId });
  const [user, guest] = [
    await signedUp(postern, { organizationId }),
    await signedUp(postern, { organizationId: partner }),
  ];
  return { organizationId, partner, projectId, projectGrantId, owner, grantOwner, user, guest };
}

async function holder(role: string, organizationId: string, scope: object): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId, roles: [role], ...scope }, within(organizationId)));
  return client;
}

const find = (client: Client, query: Readonly<Record<string, string>>) =>
  client.get(`/v1/users:find?${new URLSearchParams(query)}`);

test("who gives roles on a project or project grant finds a user of the organization by the whole login name", async () => {
  const { organizationId, partner, projectId, projectGrantId, owner, grantOwner, user, guest } = await lending();
  const found = { kind: "OBJECT_KIND_USER", name: "Ada Byron" };
  expect(done(await find(owner, { loginName: user.username.toUpperCase(), projectId }))).toEqual({
    user: { ...found, id: user.userId, loginName: user.username, organizationId },
  });
  expect(done(await find(owner, { loginName: user.username, projectGrantId })).user.id).toBe(user.userId);
  for (const object of [{ projectId }, { projectGrantId }, { projectId, projectGrantId }])
    expect(done(await find(grantOwner, { loginName: guest.username, ...object }))).toEqual({
      user: { ...found, id: guest.userId, loginName: guest.username, organizationId: partner },
    });
});

test("a part of a name, an address, and users of other organizations find nobody", async () => {
  const { projectId, owner, user, guest } = await lending();
  for (const loginName of [user.username.slice(0, -1), `${user.username}@example.com`, guest.username])
    expect(reasonOf(await find(owner, { loginName, projectId }))).toEqual([404, "USER_NOT_FOUND"]);
});

test("an object of others is not found, nor one beyond the caller's role", async () => {
  const [{ projectId, projectGrantId, organizationId, owner, user }, other] = [await lending(), await lending()];
  const { username: loginName } = user;
  const foreign = [{ projectId: other.projectId }, { projectGrantId: other.projectGrantId }];
  const beside = done(await postern.admin.post("/v1/projects", { name: "Stock" }, within(organizationId))).projectId;
  const grantBeside = done(
    await postern.admin.post(
      `/v1/projects/${beside}/grants`,
      { grantedOrganizationId: other.partner },
      within(organizationId),
    ),
  ).projectGrantId;
  const orgOwner = await holder("ORG_OWNER", organizationId, {});
  for (const object of [...foreign, { projectId: beside }, { projectGrantId: grantBeside }])
    expect((await find(owner, { loginName, ...object })).status).toBe(404);
  for (const object of [...foreign, { projectId: beside, projectGrantId }])
    expect((await find(orgOwner, { loginName, ...object })).status).toBe(404);
  expect(done(await find(orgOwner, { loginName, projectGrantId: grantBeside })).user.id).toBe(user.userId);
  expect(reasonOf(await find(owner, { loginName }))).toEqual([403, "PERMISSION_DENIED"]);
  expect((await find(orgOwner, { loginName })).status).toBe(400);
  const viewer = await holder("PROJECT_VIEWER", organizationId, { projectId });
  expect(reasonOf(await find(viewer, { loginName, projectId }))).toEqual([403, "PERMISSION_DENIED"]);
});

test("a caller may try few names that nobody has", async () => {
  const { projectId, owner, user } = await lending();
  const tried: number[] = [];
  for (let n = 0; n < 6; n++) tried.push((await find(owner, { loginName: `nobody${n}`, projectId })).status);
  expect(tried).toEqual([404, 404, 404, 404, 404, 429]);
  const refused = await find(owner, { loginName: user.username, projectId });
  expect(reasonOf(refused)).toEqual([429, "RATE_LIMIT"]);
});
