import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorText } from "../../../src/messages/catalogue.ts";
import { unique } from "../../events/log_of.ts";
import { type Answer, type Client, machine, organization, type Postern, startPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
});

type Violation = { field: string; description: string };
type Detail = { reason?: string; fieldViolations?: Violation[] };
const reasonOf = ({ body }: Answer) => body.details.find(({ reason }: Detail) => reason !== undefined)?.reason;
const refused = (answer: Answer) => [answer.status, reasonOf(answer)];
const violations = ({ body }: Answer): Violation[] =>
  body.details.flatMap(({ fieldViolations = [] }: Detail) => fieldViolations);
const answered = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** An organization with a project of another organization lent to it, and a user of a third. */
async function everywhere() {
  const [other, third] = await Promise.all([organization(postern), organization(postern)]);
  const { projectId } = answered(await postern.admin.post("/v1/projects", { name: unique("Project") }));
  const grant = { grantedOrganizationId: other };
  const { projectGrantId } = answered(await postern.admin.post(`/v1/projects/${projectId}/grants`, grant));
  return { other, projectId, projectGrantId, ...(await machine(postern, { organizationId: third })) };
}

test("ListRoles tells each role with its scope and permissions", async () => {
  const { roles } = answered(await (await machine(postern)).client.get("/v1/roles"));
  expect(roles.map(({ role, scope }: { role: string; scope: string }) => `${role} ${scope}`)).toEqual([
    ...["INSTANCE_OWNER ROLE_SCOPE_INSTANCE", "INSTANCE_VIEWER ROLE_SCOPE_INSTANCE"],
    ...["ORG_OWNER", "ORG_USER_MANAGER", "ORG_VIEWER"].map((role) => `${role} ROLE_SCOPE_ORGANIZATION`),
    ...["PROJECT_OWNER ROLE_SCOPE_PROJECT", "PROJECT_GRANT_OWNER ROLE_SCOPE_PROJECT_GRANT"],
    ...["PROJECT_VIEWER ROLE_SCOPE_PROJECT", "PROJECT_GRANT_VIEWER ROLE_SCOPE_PROJECT_GRANT"],
    "PROJECT_EVALUATOR ROLE_SCOPE_PROJECT",
  ]);
  expect(roles.at(-1).permissions).toEqual(["authorization.evaluate"]);
  expect(roles[0].permissions).toContain("instance.write");
  expect(roles[2].permissions).not.toContain("instance.read");
});

test("each scope has its members, with its own owner and its own roles", async () => {
  const { other, projectId, projectGrantId, userId } = await everywhere();
  const grant = { projectId, projectGrantId };
  const scopes = [
    { path: "/v1/members", body: {}, role: "ORG_VIEWER", owner: other, names: { organizationId: other } },
    {
      ...{ path: `/v1/projects/${projectId}/members`, body: {}, role: "PROJECT_OWNER" },
      ...{ owner: postern.organizationId, names: { projectId } },
    },
    {
      ...{
        path: `/v1/projects/${projectId}/grants/${projectGrantId}/members`,
        body: grant,
        role: "PROJECT_GRANT_OWNER",
      },
      ...{ owner: other, names: { projectGrantId } },
    },
  ];
  for (const { path, body, role, owner, names } of scopes) {
    const added = answered(await postern.admin.post(path, { ...body, userId, roles: [role] }, inside(owner)));
    expect(added.details).toMatchObject({ sequence: "1", resourceOwner: owner });
    const { members } = answered(await postern.admin.get(path, inside(owner)));
    expect(members).toEqual([{ userId, roles: [role], details: added.details, ...names }]);
    expect(refused(await postern.admin.post(path, { userId, roles: [role] }, inside(owner)))).toEqual([
      409,
      "MEMBER_EXISTS",
    ]);
    const removed = answered(await postern.admin.delete(`${path}/${userId}`, inside(owner)));
    expect(removed.details).toMatchObject({ sequence: "2", creationDate: added.details.creationDate });
    const again = await postern.admin.delete(`${path}/${userId}`, inside(owner));
    expect(refused(again)).toEqual([404, "MEMBER_NOT_FOUND"]);
  }
});

test("the organization may be named in the path, and the instance by its flag", async () => {
  const { other, userId } = await everywhere();
  answered(await postern.admin.post(`/v1/organizations/${other}/members`, { userId, roles: ["ORG_OWNER"] }));
  const { members } = answered(await postern.admin.get(`/v1/organizations/${other}/members`));
  expect(members).toMatchObject([{ userId, organizationId: other }]);
  const viewer = { userId, roles: ["INSTANCE_VIEWER"], instance: true };
  answered(await postern.admin.post("/v1/members", viewer));
  const all = answered(await postern.admin.get("/v1/members?instance=true")).members;
  expect(all.map(({ userId }: { userId: string }) => userId)).toEqual([userId, postern.adminId]);
  expect(Object.keys(all[0]).sort()).toEqual(["details", "roles", "userId"]);
  answered(await postern.admin.delete(`/v1/members/${userId}?instance=true`));
});

test("a role of another scope is refused with what to set", async () => {
  const { projectId, userId } = await everywhere();
  const roles = ["PROJECT_OWNER", "INSTANCE_VIEWER", "ORG_VIEWER", "PROJECT_GRANT_OWNER"];
  const answer = await postern.admin.post(`/v1/projects/${projectId}/members`, { userId, roles });
  expect(refused(answer)).toEqual([400, "MEMBER_ROLE_SCOPE"]);
  expect(violations(answer)).toMatchObject([
    { field: "roles[1]", description: errorText("ROLE_ON_INSTANCE", { role: "INSTANCE_VIEWER" }) },
    { field: "roles[2]", description: errorText("ROLE_ON_ORGANIZATION", { role: "ORG_VIEWER" }) },
    { field: "roles[3]", description: errorText("ROLE_ON_PROJECT_GRANT", { role: "PROJECT_GRANT_OWNER" }) },
  ]);
  const beside = await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"], instance: true, projectId });
  expect(refused(beside)).toEqual([400, "VALIDATION_FAILED"]);
  expect(violations(beside).map(({ field }) => field)).toEqual(["projectId"]);
});

test("a place that is not in the organization worked in does not exist", async () => {
  const { other, projectId, projectGrantId, userId } = await everywhere();
  const second = answered(await postern.admin.post("/v1/projects", { name: unique("Project") })).projectId;
  const project = `/v1/projects/${projectId}/members`;
  const owner = { userId, roles: ["PROJECT_OWNER"] };
  const grantOwner = { userId, roles: ["PROJECT_GRANT_OWNER"] };
  expect(refused(await postern.admin.post(project, owner, inside(other)))).toEqual([404, "PROJECT_NOT_FOUND"]);
  const grants = [
    await postern.admin.post(`/v1/projects/${projectId}/grants/${projectGrantId}/members`, grantOwner),
    await postern.admin.post(`/v1/projects/${second}/grants/${projectGrantId}/members`, grantOwner, inside(other)),
    await postern.admin.get(`/v1/projects/${second}/grants/${projectGrantId}/members`, inside(other)),
  ];
  for (const answer of grants) expect(refused(answer)).toEqual([404, "PROJECT_GRANT_NOT_FOUND"]);
  const nobody = await postern.admin.post(project, { ...owner, userId: "nobody" });
  expect(refused(nobody)).toEqual([404, "USER_NOT_FOUND"]);
});

test("a role on one project says nothing about the grants of others", async () => {
  const { other, projectId, projectGrantId, userId, client } = await everywhere();
  const created = await postern.admin.post("/v1/projects", { name: unique("Project") }, inside(other));
  const mine = answered(created).projectId;
  const members = `/v1/projects/${mine}/members`;
  answered(await postern.admin.post(members, { userId, roles: ["PROJECT_OWNER"] }, inside(other)));
  answered(await client.get(members, inside(other)));
  const theirs = await client.get(`/v1/members?projectGrantId=${projectGrantId}`, inside(other));
  expect(refused(theirs)).toEqual([404, "PROJECT_GRANT_NOT_FOUND"]);
  const through = await client.get(`/v1/projects/${projectId}/grants/${projectGrantId}/members`, inside(other));
  expect(through.status).toBe(404);
});

test("members are changed, and a change to what they are changes nothing", async () => {
  const { other, userId } = await everywhere();
  const path = `/v1/organizations/${other}/members`;
  answered(await postern.admin.post(path, { userId, roles: ["ORG_VIEWER"] }));
  const roles = ["ORG_OWNER", "ORG_VIEWER"];
  const changed = answered(await postern.admin.put(`${path}/${userId}`, { roles }));
  expect(changed.details.sequence).toBe("2");
  const same = answered(await postern.admin.put(`${path}/${userId}`, { roles: roles.toReversed() }));
  expect(same.details).toEqual(changed.details);
  expect(answered(await postern.admin.get(path)).members[0].roles).toEqual(roles);
  const nobody = await postern.admin.put(`${path}/${postern.adminId}`, { roles });
  expect(refused(nobody)).toEqual([404, "MEMBER_NOT_FOUND"]);
});

test("members are listed newest first, page after page", async () => {
  const { other } = await everywhere();
  const users = [];
  for (let at = 0; at < 5; at++) users.push(await machine(postern));
  const path = `/v1/organizations/${other}/members`;
  for (const { userId } of users) answered(await postern.admin.post(path, { userId, roles: ["ORG_VIEWER"] }));
  const found: string[] = [];
  for (let token = ""; ; ) {
    const page = answered(await postern.admin.get(`${path}?pageSize=2&pageToken=${token}`));
    found.push(...page.members.map(({ userId }: { userId: string }) => userId));
    token = page.nextPageToken;
    if (!token) break;
  }
  expect(found).toEqual(users.map(({ userId }) => userId).reverse());
});

test("the last owner of the instance stays", async () => {
  const path = `/v1/members/${postern.adminId}`;
  expect(refused(await postern.admin.delete(`${path}?instance=true`))).toEqual([400, "LAST_OWNER"]);
  const demoted = await postern.admin.put(path, { instance: true, roles: ["INSTANCE_VIEWER"] });
  expect(refused(demoted)).toEqual([400, "LAST_OWNER"]);
  answered(await postern.admin.put(path, { instance: true, roles: ["INSTANCE_VIEWER", "INSTANCE_OWNER"] }));
});

test("of two nodes that remove the last two owners at once, one is refused", async () => {
  await using one = await startPostern();
  await using other = await startPostern(one.config);
  for (let round = 0; round < 10; round++) {
    const { userId, client } = await machine(one);
    const owner = { userId, roles: ["INSTANCE_OWNER"], instance: true };
    answered(await one.admin.post("/v1/members", owner));
    const demote = { instance: true, roles: ["INSTANCE_VIEWER"] };
    const answers = await Promise.all([
      one.admin.put(`/v1/members/${one.adminId}`, demote),
      other.as(client.token).delete(`/v1/members/${userId}?instance=true`),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const [admin] = answers;
    if (admin.status === 400) continue;
    answered(await client.put(`/v1/members/${one.adminId}`, { instance: true, roles: ["INSTANCE_OWNER"] }));
    answered(await one.as(client.token).delete(`/v1/members/${userId}?instance=true`));
  }
});

test("of two owners of whom one is deactivated and the other removed at once, one stays and is active", async () => {
  await using one = await startPostern();
  await using other = await startPostern(one.config);
  const owner = async () => {
    const made = await machine(one);
    answered(await one.admin.post("/v1/members", { userId: made.userId, roles: ["INSTANCE_OWNER"], instance: true }));
    return made;
  };
  for (let round = 0; round < 10; round++) {
    const [ada, bob] = [await owner(), await owner()];
    answered(await ada.client.delete(`/v1/members/${one.adminId}?instance=true`));
    const answers = await Promise.all([
      other.as(bob.client.token).post(`/v1/users/${ada.userId}:deactivate`),
      ada.client.delete(`/v1/members/${bob.userId}?instance=true`),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const left = answers[0].status === 200 ? bob : ada;
    answered(await left.client.post("/v1/members", { userId: one.adminId, roles: ["INSTANCE_OWNER"], instance: true }));
    answered(await left.client.delete(`/v1/members/${left.userId}?instance=true`));
    const { members } = answered(await one.admin.get("/v1/members?instance=true"));
    for (const { userId } of members.filter(({ userId }: { userId: string }) => userId !== one.adminId))
      answered(await one.admin.delete(`/v1/members/${userId}?instance=true`));
  }
});

/** An organization with so many owners, each a machine of its own. */
async function owned(at: Postern, count: number) {
  const organizationId = await organization(at);
  const path = `/v1/organizations/${organizationId}/members`;
  const join = async () => {
    const made = await machine(at, { organizationId });
    answered(await at.admin.post(path, { userId: made.userId, roles: ["ORG_OWNER"] }));
    return made;
  };
  const owners = [];
  for (let nth = 0; nth < count; nth++) owners.push(await join());
  return { path, owners, join };
}

/** Every way in which an owner of an organization can leave it. */
const leaves = {
  removed: (by, path, userId) => by.delete(`${path}/${userId}`),
  demoted: (by, path, userId) => by.put(`${path}/${userId}`, { roles: ["ORG_VIEWER"] }),
  deactivated: (by, _path, userId) => by.post(`/v1/users/${userId}:deactivate`),
  deleted: (by, _path, userId) => by.delete(`/v1/users/${userId}`),
} satisfies Record<string, (by: Client, path: string, userId: string) => Promise<Answer>>;

describe.each(Object.entries(leaves))("the last active owner of an organization is not %s", (_way, leave) => {
  test("until another one is there", async () => {
    const { path, owners, join } = await owned(postern, 1);
    const last = owners[0]?.userId ?? "";
    expect(refused(await leave(postern.admin, path, last))).toEqual([400, "LAST_OWNER"]);
    const second = await join();
    answered(await postern.admin.post(`/v1/users/${second.userId}:deactivate`));
    expect(refused(await leave(postern.admin, path, last))).toEqual([400, "LAST_OWNER"]);
    answered(await postern.admin.post(`/v1/users/${second.userId}:reactivate`));
    answered(await leave(postern.admin, path, last));
    expect(refused(await leave(postern.admin, path, second.userId))).toEqual([400, "LAST_OWNER"]);
  });
});

test("the last owner of an organization that is a user of another one is stopped there, and stays an owner otherwise", async () => {
  const organizationId = await organization(postern);
  const path = `/v1/organizations/${organizationId}/members`;
  for (const way of ["deactivated", "deleted"] as const) {
    const { userId } = await machine(postern);
    answered(await postern.admin.post(path, { userId, roles: ["ORG_OWNER"] }));
    expect(refused(await leaves.removed(postern.admin, path, userId))).toEqual([400, "LAST_OWNER"]);
    expect(refused(await leaves.demoted(postern.admin, path, userId))).toEqual([400, "LAST_OWNER"]);
    answered(await leaves[way](postern.admin, path, userId));
  }
});

test("the last owner of one organization may leave another, and a role that owns nothing is taken from anybody", async () => {
  const [one, other] = [await owned(postern, 1), await owned(postern, 1)];
  const last = one.owners[0]?.userId ?? "";
  answered(await postern.admin.post(other.path, { userId: last, roles: ["ORG_OWNER", "ORG_VIEWER"] }));
  answered(await postern.admin.put(`${other.path}/${last}`, { roles: ["ORG_VIEWER"] }));
  answered(await postern.admin.delete(`${other.path}/${last}`));
  expect(refused(await postern.admin.delete(`/v1/users/${last}`))).toEqual([400, "LAST_OWNER"]);
});

test("of two nodes where the last two owners of an organization leave at once, one is refused", async () => {
  await using one = await startPostern();
  await using other = await startPostern(one.config);
  const ways = Object.values(leaves);
  for (const [at, first] of ways.entries())
    for (const second of ways.slice(at))
      for (let round = 0; round < 3; round++) {
        const { path, owners } = await owned(one, 2);
        const [ada = "", bob = ""] = owners.map(({ userId }) => userId);
        const answers = await Promise.all([first(one.admin, path, ada), second(other.as(one.admin.token), path, bob)]);
        expect(answers.map(({ status }) => status).sort(), `${first} ${second}`).toEqual([200, 400]);
        expect(answers.map(({ body }) => body.code).filter(Boolean)).toEqual([9]);
      }
});

test("of many owners of an organization who leave at once, on one node, one stays", async () => {
  const { path, owners } = await owned(postern, 8);
  const ways = Object.values(leaves);
  const answers = await Promise.all(
    owners.map(({ userId }, at) => (ways[at % ways.length] ?? leaves.removed)(postern.admin, path, userId)),
  );
  const refusals = answers.filter(({ status }) => status !== 200);
  expect(refusals.map(({ body }) => body.message)).toHaveLength(1);
  const { members } = answered(await postern.admin.get(path));
  expect(members.filter(({ roles }: { roles: string[] }) => roles.includes("ORG_OWNER")).length).toBeGreaterThan(0);
});
