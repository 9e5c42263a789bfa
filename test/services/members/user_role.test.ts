import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { grantedElsewhere } from "../../fixture/roles_elsewhere.ts";
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
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};
const infoOf = ({ body }: Answer) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"));
const refused = (answer: Answer) => [answer.status, infoOf(answer)?.reason];
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** An organization with an owner and a project with a role. */
async function tenant() {
  const organizationId = await organization(postern);
  const owner = await member(organizationId, "ORG_OWNER");
  const { projectId } = done(await owner.client.post("/v1/projects", { name: "Shop" }));
  done(await owner.client.post(`/v1/projects/${projectId}/roles`, { key: "buyer" }));
  return { organizationId, owner, projectId: projectId as string };
}

async function member(organizationId: string, role: string) {
  const made = await machine(postern, { organizationId });
  const body = { userId: made.userId, roles: [role] };
  done(await postern.admin.post("/v1/members", body, inside(organizationId)));
  return made;
}

const active = "USER_GRANT_STATE_ACTIVE";
type UserRole = { readonly kind: string };

const rolesOf = async (client: Client, userId: string) => done(await client.get(`/v1/users/${userId}/roles`)).userRoles;
const endedOf = async (client: Client, userId: string) =>
  done(await client.get(`/v1/users/${userId}/ended-roles`)).endedRoles;

/** A user of one tenant whom another one gave a membership and a user grant. */
async function shared() {
  const [home, other] = [await tenant(), await tenant()];
  const person = await signedUp(postern, { organizationId: home.organizationId });
  const { userId } = person;
  const join = () =>
    other.owner.client.post(`/v1/projects/${other.projectId}/members`, { userId, roles: ["PROJECT_EVALUATOR"] });
  const grant = () =>
    other.owner.client.post(`/v1/users/${userId}/grants`, { projectId: other.projectId, roleKeys: ["buyer"] });
  done(await join());
  done(await grant());
  return { home, other, person, join, grant };
}

test("the home organization and the user see who gave which roles, wherever, page by page", async () => {
  const { home, other, person } = await shared();
  const { userId, client } = person;
  done(await home.owner.client.post(`/v1/users/${userId}/grants`, { projectId: home.projectId, roleKeys: ["buyer"] }));
  const members = { userId, roles: ["INSTANCE_VIEWER"], instance: true };
  done(await postern.admin.post("/v1/members", members));
  const { organization: there } = done(await postern.admin.get(`/v1/organizations/${other.organizationId}`));
  const all = await rolesOf(home.owner.client, userId);
  const foreign = {
    ...{ organizationId: other.organizationId, organizationName: there.name },
    ...{ projectId: other.projectId, projectOrganizationId: other.organizationId, inEffect: true },
  };
  expect(all).toHaveLength(4);
  expect(all).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...foreign, kind: "ROLE_KIND_MEMBERSHIP", roles: ["PROJECT_EVALUATOR"] }),
      expect.objectContaining({ ...foreign, kind: "ROLE_KIND_USER_GRANT", roles: ["buyer"], state: active }),
      expect.objectContaining({ organizationId: home.organizationId, kind: "ROLE_KIND_USER_GRANT", roles: ["buyer"] }),
    ]),
  );
  const onInstance = all.find(({ roles }: { roles: string[] }) => roles.includes("INSTANCE_VIEWER"));
  expect(Object.keys(onInstance).sort()).toEqual(["details", "id", "inEffect", "kind", "roles", "state"]);
  const paged = [];
  for (let token = "", more = true; more; more = token !== "") {
    const page = done(await client.get(`/v1/users/me/roles?pageSize=1&pageToken=${token}`));
    paged.push(...page.userRoles);
    token = page.nextPageToken;
  }
  expect(paged).toEqual(all);
  expect(refused(await other.owner.client.get(`/v1/users/${userId}/roles`))).toEqual([404, "USER_NOT_FOUND"]);
});

test("roles say whether they are in effect, and until when", async () => {
  const { home, other, person } = await shared();
  const { client, organizationId, projectId } = { ...other.owner, ...other };
  const [grant] = done(await client.get(`/v1/users/${person.userId}/grants`)).userGrants;
  const path = `/v1/user-grants/${grant.id}`;
  const expirationDate = "2099-12-31T12:00:00Z";
  done(await client.post(`${path}:setExpiration`, { expirationDate }));
  const seen = async () => {
    const all = await rolesOf(home.owner.client, person.userId);
    return ["USER_GRANT", "MEMBERSHIP"].map((kind) => all.find((one: UserRole) => one.kind === `ROLE_KIND_${kind}`));
  };
  const inEffect = async () => (await seen()).map((one) => one.inEffect ?? false);
  expect(await seen()).toMatchObject([{ id: grant.id, expirationDate, state: active }, { inEffect: true }]);
  expect(await inEffect()).toEqual([true, true]);
  done(await client.post(`${path}:deactivate`, {}));
  expect(await seen()).toMatchObject([{ expirationDate, state: "USER_GRANT_STATE_INACTIVE" }, {}]);
  expect(await inEffect()).toEqual([false, true]);
  done(await client.post(`${path}:reactivate`, {}));
  expect(await inEffect()).toEqual([true, true]);
  done(await client.post(`/v1/projects/${projectId}:deactivate`, {}));
  expect(await inEffect()).toEqual([false, true]);
  done(await client.post(`/v1/projects/${projectId}:reactivate`, {}));
  done(await postern.admin.post(`/v1/organizations/${organizationId}:deactivate`, {}));
  expect(await inEffect()).toEqual([false, false]);
  done(await postern.admin.post(`/v1/organizations/${organizationId}:reactivate`, {}));
  await using database = openClient(postern.databaseUrl);
  await database.client`update user_grants set expiration_date = now() where user_grant_id = ${grant.id}`;
  expect(await inEffect()).toEqual([false, true]);
});

test("roles of a project grant name the project and the grant", async () => {
  const [lender, giver] = [await tenant(), await tenant()];
  const { userId, client } = await signedUp(postern);
  const lent = { grantedOrganizationId: giver.organizationId, roleKeys: ["buyer"] };
  const { projectId } = lender;
  const { projectGrantId } = done(await lender.owner.client.post(`/v1/projects/${projectId}/grants`, lent));
  const wanted = { projectId, projectGrantId, roleKeys: ["buyer"] };
  done(await giver.owner.client.post(`/v1/users/${userId}/grants`, wanted));
  const path = `/v1/projects/${projectId}/grants/${projectGrantId}/members`;
  done(await giver.owner.client.post(path, { userId, roles: ["PROJECT_GRANT_OWNER"] }));
  const found = await rolesOf(client, userId);
  expect(found).toHaveLength(2);
  for (const one of found)
    expect(one).toMatchObject({
      ...{ organizationId: giver.organizationId, projectId, projectGrantId, inEffect: true },
      projectOrganizationId: lender.organizationId,
    });
});

test("whatever another organization gives, the home organization stops its user and takes it back", async () => {
  const { home, other, person, join } = await shared();
  const { userId } = person;
  const { client } = home.owner;
  const denied = await client.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-77" });
  expect(refused(denied)).toEqual([403, "PERMISSION_DENIED"]);
  expect(infoOf(denied).metadata).toMatchObject({ organizationId: other.organizationId, projectId: other.projectId });
  expect(denied.body.message).toContain(other.organizationId);
  done(await client.delete(`/v1/users/${userId}/sessions`));
  done(await client.post(`/v1/users/${userId}:deactivate`));
  done(await client.post(`/v1/users/${userId}:reactivate`));
  done(await client.post(`/v1/users/${userId}/roles:end`, { organizationId: other.organizationId }));
  expect(await rolesOf(client, userId)).toEqual([]);
  expect(refused(await join())).toEqual([400, "ENDED_BY_RECEIVER"]);
  done(await client.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-77" }));
  done(await client.delete(`/v1/users/${userId}`));
});

test("what was ended is refused from the same giver, through every call, until it is allowed again", async () => {
  const { home, other, person, join, grant } = await shared();
  const { userId } = person;
  const { client } = home.owner;
  const { organizationId } = other;
  const ended = done(await client.post(`/v1/users/${userId}/roles:end`, { organizationId }));
  expect(ended.details.resourceOwner).toBe(home.organizationId);
  expect(await endedOf(client, userId)).toMatchObject([
    { organizationId, kind: "ROLE_KIND_MEMBERSHIP", byAdministrator: true },
    { organizationId, kind: "ROLE_KIND_USER_GRANT", byAdministrator: true },
  ]);
  const { projectId } = done(await other.owner.client.post("/v1/projects", { name: "Another" }));
  const items = [{ userId, projectId, roleKeys: [] }];
  const ways = [
    join,
    grant,
    () => other.owner.client.post("/v1/members", { userId, roles: ["ORG_OWNER"] }),
    () => other.owner.client.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: [] }),
    () => other.owner.client.post("/v1/user-grants:batchAdd", { items, allOrNothing: true }),
    () => postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, inside(organizationId)),
  ];
  for (const way of ways) expect(refused(await way())).toEqual([400, "ENDED_BY_RECEIVER"]);
  const batch = done(await other.owner.client.post("/v1/user-grants:batchAdd", { items }));
  expect(JSON.stringify(batch.outcomes)).toContain("ENDED_BY_RECEIVER");
  for (const gone of ["put", "delete"] as const)
    expect((await other.owner.client[gone](`/v1/projects/${other.projectId}/members/${userId}`, {})).status).not.toBe(
      200,
    );
  expect(await rolesOf(client, userId)).toEqual([]);

  const again = done(await client.post(`/v1/users/${userId}/roles:end`, { organizationId }));
  expect(again.details.sequence).toBe(ended.details.sequence);
  expect(refused(await person.client.post("/v1/users/me/roles:allow", { organizationId }))).toEqual([
    403,
    "PERMISSION_DENIED",
  ]);
  const kind = "ROLE_KIND_USER_GRANT";
  done(await client.post(`/v1/users/${userId}/roles:allow`, { organizationId, kind }));
  done(await grant());
  expect(refused(await join())).toEqual([400, "ENDED_BY_RECEIVER"]);
  done(await client.post(`/v1/users/${userId}/roles:allow`, { organizationId }));
  done(await join());
  expect(await endedOf(client, userId)).toEqual([]);
});

test("users leave, and undo that themselves until an administrator does the same", async () => {
  const { home, other, person, grant } = await shared();
  const { organizationId } = other;
  const me = "/v1/users/me/roles";
  done(await person.client.post(`${me}:end`, { organizationId, kind: "ROLE_KIND_USER_GRANT" }));
  expect(await rolesOf(person.client, "me")).toMatchObject([{ kind: "ROLE_KIND_MEMBERSHIP" }]);
  expect(await endedOf(person.client, "me")).toMatchObject([{ kind: "ROLE_KIND_USER_GRANT", byAdministrator: false }]);
  expect(refused(await grant())).toEqual([400, "ENDED_BY_RECEIVER"]);
  done(await person.client.post(`${me}:allow`, { organizationId }));
  done(await grant());
  done(await person.client.post(`${me}:end`, { organizationId }));
  done(await home.owner.client.post(`/v1/users/${person.userId}/roles:end`, { organizationId }));
  expect(refused(await person.client.post(`${me}:allow`, { organizationId }))).toEqual([403, "PERMISSION_DENIED"]);
});

test("nobody climbs: roles of others are ended by those who cover the user at home, and roles on the instance stay", async () => {
  const { home, other } = await shared();
  const { organizationId } = other;
  const manager = await member(home.organizationId, "ORG_USER_MANAGER");
  const { userId } = home.owner;
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, inside(organizationId)));
  for (const verb of ["end", "allow"])
    expect(refused(await manager.client.post(`/v1/users/${userId}/roles:${verb}`, { organizationId }))).toEqual([
      403,
      "PERMISSION_DENIED",
    ]);
  expect(refused(await manager.client.post(`/v1/users/${userId}:deactivate`))).toEqual([403, "PERMISSION_DENIED"]);
  const viewer = await machine(postern, { organizationId: home.organizationId });
  const onInstance = { userId: viewer.userId, roles: ["INSTANCE_VIEWER"], instance: true };
  done(await postern.admin.post("/v1/members", onInstance));
  const [{ details }] = await rolesOf(viewer.client, "me");
  const taken = await viewer.client.post("/v1/users/me/roles:end", { organizationId: details.resourceOwner });
  expect(refused(taken)).toEqual([404, "ORGANIZATION_NOT_FOUND"]);
  expect(await rolesOf(viewer.client, "me")).toHaveLength(1);
});

test("the answer about an organization that gave nothing is the same whether there is one or not", async () => {
  const { userId, client } = await signedUp(postern);
  for (const organizationId of [await organization(postern), "none"]) {
    const ended = await client.post(`/v1/users/${userId}/roles:end`, { organizationId });
    expect(refused(ended)).toEqual([404, "ORGANIZATION_NOT_FOUND"]);
    expect(done(await client.post(`/v1/users/${userId}/roles:allow`, { organizationId })).details.sequence).toBe("1");
  }
});

test("the last owner of another organization cannot leave it, but its own organization takes it back", async () => {
  const home = await tenant();
  const { userId, client } = await signedUp(postern, { organizationId: home.organizationId });
  const organizationId = await organization(postern);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, inside(organizationId)));
  expect(refused(await client.post("/v1/users/me/roles:end", { organizationId }))).toEqual([400, "LAST_OWNER"]);
  done(await home.owner.client.post(`/v1/users/${userId}:deactivate`));
  done(await home.owner.client.post(`/v1/users/${userId}:reactivate`));
  done(await home.owner.client.post(`/v1/users/${userId}/roles:end`, { organizationId }));
  done(await home.owner.client.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-77" }));
});

test("of two last owners from elsewhere who leave at once, one stays", async () => {
  for (let round = 0; round < 5; round++) {
    const organizationId = await organization(postern);
    const owners = [await signedUp(postern), await signedUp(postern)];
    for (const { userId } of owners)
      done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, inside(organizationId)));
    const answers = await Promise.all(
      owners.map(({ client }) => client.post("/v1/users/me/roles:end", { organizationId })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  }
});

test("what was ended gives nothing on the node that ended it, and soon on no other", async () => {
  await using other = await startPostern(postern.config);
  const { home, other: giver, person } = await shared();
  const path = `/v1/projects/${giver.projectId}/members/${person.userId}`;
  done(await giver.owner.client.put(path, { roles: ["PROJECT_OWNER"] }));
  const read = (client: Client) => client.get(`/v1/projects/${giver.projectId}`, inside(giver.organizationId));
  const far = other.as(person.client.token);
  for (const client of [person.client, far]) done(await read(client));
  const { organizationId } = giver;
  done(await home.owner.client.post(`/v1/users/${person.userId}/roles:end`, { organizationId }));
  expect(refused(await read(person.client))).toEqual([403, "PERMISSION_DENIED"]);
  await vi.waitUntil(async () => (await read(far)).status === 403, { timeout: 60_000, interval: 20 });
});

test("of two nodes that give and end at once, nothing is left that was ended", async () => {
  await using other = await startPostern(postern.config);
  for (let round = 0; round < 8; round++) {
    const { home, other: giver, person } = await shared();
    const { userId } = person;
    const { organizationId } = giver;
    const far = other.as(giver.owner.client.token);
    const projects = await Promise.all(
      Array.from(
        { length: 6 },
        async () => done(await far.post("/v1/projects", { name: crypto.randomUUID() })).projectId,
      ),
    );
    const gives = projects.flatMap((projectId) => [
      () => far.post(`/v1/projects/${projectId}/members`, { userId, roles: ["PROJECT_OWNER"] }),
      () => far.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: [] }),
    ]);
    const end = () => home.owner.client.post(`/v1/users/${userId}/roles:end`, { organizationId });
    const answers = await Promise.all([
      ...gives.slice(0, 6).map((give) => give()),
      end(),
      ...gives.slice(6).map((give) => give()),
    ]);
    done(answers[6] as Answer);
    for (const answer of answers)
      if (answer.status !== 200) expect(refused(answer)).toEqual([400, "ENDED_BY_RECEIVER"]);
    expect(await rolesOf(home.owner.client, userId)).toEqual([]);
  }
});

test("an organization that is deleted is in neither list", async () => {
  const { userId, client } = await signedUp(postern);
  const organizationId = await grantedElsewhere(postern, userId);
  const another = await grantedElsewhere(postern, userId);
  done(await client.post("/v1/users/me/roles:end", { organizationId }));
  done(await postern.admin.delete(`/v1/organizations/${organizationId}`));
  done(await postern.admin.delete(`/v1/organizations/${another}`));
  expect([await rolesOf(client, "me"), await endedOf(client, "me")]).toEqual([[], []]);
});
