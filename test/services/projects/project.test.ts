import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection, unique } from "../../events/log_of.ts";
import { type Answer, machine, organization, type Postern, startPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
});

type Detail = { reason?: string; fieldViolations?: { field: string }[]; metadata?: object };
const infoOf = ({ body }: Answer): Detail => body.details.find(({ reason }: Detail) => reason !== undefined);
const refused = (answer: Answer) => [answer.status, infoOf(answer).reason];
const fields = ({ body }: Answer) =>
  body.details.flatMap(({ fieldViolations = [] }: Detail) => fieldViolations.map(({ field }) => field));
const answered = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const newProject = async (name = unique("Project"), headers = {}): Promise<string> =>
  answered(await postern.admin.post("/v1/projects", { name }, headers)).projectId;
const addRole = (projectId: string, key: string, more = {}) =>
  postern.admin.post(`/v1/projects/${projectId}/roles`, { key, ...more });
const grantTo = (projectId: string, grantedOrganizationId: string, roleKeys: string[] = []) =>
  postern.admin.post(`/v1/projects/${projectId}/grants`, { grantedOrganizationId, roleKeys });
const lists = async (path: string, headers = {}) => answered(await postern.admin.get(path, headers));

/** A project with roles, granted with some of them to another organization, and a user there. */
async function lent(roles = ["a", "b", "c"], granted = ["a", "b"]) {
  const [projectId, other] = await Promise.all([newProject(), organization(postern)]);
  for (const key of roles) answered(await addRole(projectId, key));
  const { projectGrantId } = answered(await grantTo(projectId, other, granted));
  const { userId } = await machine(postern);
  return { projectId, other, projectGrantId: projectGrantId as string, userId };
}

test("a project is created once under a name, read, and deleted", async () => {
  const name = unique("Project");
  const created = answered(await postern.admin.post("/v1/projects", { name: `  ${name} ` }));
  expect(created.details).toMatchObject({ sequence: "1", resourceOwner: postern.organizationId });
  const { projectId } = created;
  const again = await postern.admin.post("/v1/projects", { name });
  expect(refused(again)).toEqual([409, "PROJECT_NAME_TAKEN"]);
  expect(infoOf(again).metadata).toEqual({ name, projectId });
  const state = { state: "PROJECT_STATE_ACTIVE", grantRequired: false };
  const project = { id: projectId, name, details: created.details, ...state };
  expect(answered(await postern.admin.get(`/v1/projects/${projectId}`)).project).toEqual(project);
  const deleted = answered(await postern.admin.delete(`/v1/projects/${projectId}`));
  expect(deleted.details).toMatchObject({ sequence: "2", creationDate: created.details.creationDate });
  expect(refused(await postern.admin.get(`/v1/projects/${projectId}`))).toEqual([404, "PROJECT_NOT_FOUND"]);
  expect(refused(await postern.admin.delete(`/v1/projects/${projectId}`))).toEqual([404, "PROJECT_NOT_FOUND"]);
  answered(await postern.admin.post("/v1/projects", { name }));
});

test("of many that create a project of one name at once, one does and the others hear its id", async () => {
  const name = unique("Project");
  const answers = await Promise.all(Array.from({ length: 20 }, () => postern.admin.post("/v1/projects", { name })));
  const [won, ...more] = answers.filter(({ status }) => status === 200);
  expect(more).toEqual([]);
  const lost = answers.filter(({ status }) => status !== 200);
  for (const answer of lost) expect(infoOf(answer).metadata).toEqual({ name, projectId: won?.body.projectId });
});

test("projects are listed by name, page after page, those of others only on request", async () => {
  const [owner, lender] = await Promise.all([organization(postern), organization(postern)]);
  const names = ["b", "d", "a"];
  for (const name of names) await newProject(name, inside(owner));
  const c = await newProject("c", inside(lender));
  const grant = { grantedOrganizationId: owner };
  const granted = await postern.admin.post(`/v1/projects/${c}/grants`, grant, inside(lender));
  const { projectGrantId: lent } = answered(granted);
  const pages = async (query: string) => {
    const found: string[] = [];
    for (let token = ""; ; ) {
      const page = await lists(`/v1/projects?pageSize=2&pageToken=${token}${query}`, inside(owner));
      found.push(...page.projects.map(({ name }: { name: string }) => name));
      token = page.nextPageToken;
      if (!token) return found;
    }
  };
  expect(await pages("")).toEqual(["a", "b", "d"]);
  expect(await pages("&includeGranted=true")).toEqual(["a", "b", "c", "d"]);
  for (const filter of ["", "&filter.search=c", "&filter.name=c"]) {
    const { projects } = await lists(`/v1/projects?includeGranted=true${filter}`, inside(owner));
    const others = projects.filter((one: { projectGrantId?: string }) => one.projectGrantId);
    expect(others).toMatchObject([{ id: c, name: "c", projectGrantId: lent }]);
    const { project } = answered(await postern.admin.get(`/v1/projects/${c}`, inside(owner)));
    expect(project.projectGrantId).toBe(lent);
  }
  const wrong = await postern.admin.get("/v1/projects?pageToken=zzz", inside(owner));
  expect(refused(wrong)).toEqual([400, "PAGE_TOKEN_INVALID"]);
});

test("the page after a project with the longest of names is found", async () => {
  const owner = inside(await organization(postern));
  // A token takes most bytes for characters beyond the basic plane.
  const longest = `${"\u{1f98a}".repeat(199)}a`;
  const last = "\u{1f98b}";
  for (const name of [longest, last]) await newProject(name, owner);
  const first = await lists("/v1/projects?pageSize=1", owner);
  expect(first.projects.map(({ name }: { name: string }) => name)).toEqual([longest]);
  expect(first.nextPageToken.length).toBeGreaterThan(1000);
  const second = await lists(`/v1/projects?pageSize=1&pageToken=${first.nextPageToken}`, owner);
  expect(second.projects.map(({ name }: { name: string }) => name)).toEqual([last]);
});

test("a project's owner sees that project in the list and no other", async () => {
  const [mine] = await Promise.all([newProject(), newProject()]);
  const { userId, client } = await machine(postern);
  answered(await postern.admin.post(`/v1/projects/${mine}/members`, { userId, roles: ["PROJECT_OWNER"] }));
  const { projects } = answered(await client.get("/v1/projects?includeGranted=true"));
  expect(projects.map(({ id }: { id: string }) => id)).toEqual([mine]);
});

test("a role is added once, named by its key when it has no other name, and removed", async () => {
  const projectId = await newProject();
  expect(answered(await addRole(projectId, "b", { displayName: "Bee" })).details.sequence).toBe("2");
  expect(answered(await addRole(projectId, "a")).details.sequence).toBe("3");
  expect(refused(await addRole(projectId, "a"))).toEqual([409, "ROLE_TAKEN"]);
  const first = await lists(`/v1/projects/${projectId}/roles?pageSize=1`);
  expect(first.roles).toEqual([{ key: "a", displayName: "a" }]);
  const second = await lists(`/v1/projects/${projectId}/roles?pageSize=1&pageToken=${first.nextPageToken}`);
  expect(second).toEqual({ roles: [{ key: "b", displayName: "Bee" }], nextPageToken: "" });
  expect(answered(await postern.admin.delete(`/v1/projects/${projectId}/roles/a`)).details.sequence).toBe("4");
  expect(refused(await postern.admin.delete(`/v1/projects/${projectId}/roles/a`))).toEqual([404, "ROLE_NOT_FOUND"]);
});

test("a role key that people would read as another one of the project is taken, however it is composed", async () => {
  const projectId = await newProject();
  answered(await addRole(projectId, "Café:read"));
  for (const key of ["Café:read".normalize("NFD"), "café:read", "CAFÉ:READ", "\uff23afé:read"]) {
    const { status, body } = await addRole(projectId, key);
    expect([key, status, body.message]).toEqual([key, 409, expect.stringContaining('"Café:read"')]);
  }
  answered(await addRole(projectId, "Cafe:read"));
  expect(refused(await postern.admin.delete(`/v1/projects/${projectId}/roles/cafe:read`))).toEqual([
    404,
    "ROLE_NOT_FOUND",
  ]);
  answered(await postern.admin.delete(`/v1/projects/${projectId}/roles/${encodeURIComponent("Café:read")}`));
  answered(await addRole(projectId, "CAFÉ:read"));
});

test("a role key with a colon is a path as it is", async () => {
  const projectId = await newProject();
  const path = `${postern.url}/v1/projects/${projectId}/roles`;
  const headers = { authorization: `Bearer ${postern.admin.token}`, "content-type": "application/json" };
  for (const key of ["orders:read", ":", "a:", "a:b:deactivate"]) {
    answered(await addRole(projectId, key));
    const body = JSON.stringify({ displayName: "Read orders" });
    expect((await fetch(`${path}/${key}`, { method: "PATCH", headers, body })).status).toBe(200);
    expect((await lists(`/v1/projects/${projectId}/roles`)).roles).toEqual([{ key, displayName: "Read orders" }]);
    expect((await fetch(`${path}/${key}`, { method: "DELETE", headers })).status).toBe(200);
  }
  for (const key of [".", ".."]) expect(refused(await addRole(projectId, key))).toEqual([400, "VALIDATION_FAILED"]);
  answered(await addRole(projectId, "..."));
});

test("a grant names another organization that exists, and roles that exist", async () => {
  const { projectId, other, projectGrantId } = await lent();
  expect(refused(await grantTo(projectId, postern.organizationId))).toEqual([400, "GRANT_TO_OWNER"]);
  expect(refused(await grantTo(projectId, "nobody"))).toEqual([404, "ORGANIZATION_NOT_FOUND"]);
  const unknown = await grantTo(projectId, await organization(postern), ["x", "a", "y"]);
  expect(refused(unknown)).toEqual([400, "ROLE_UNKNOWN"]);
  expect(fields(unknown)).toEqual(["roleKeys[0]", "roleKeys[2]"]);
  const again = await grantTo(projectId, other);
  expect(refused(again)).toEqual([409, "PROJECT_GRANT_EXISTS"]);
  expect(infoOf(again).metadata).toEqual({ projectGrantId });
});

test("an organization reads what it was granted of a project, and changes nothing of it", async () => {
  const { projectId, other, projectGrantId } = await lent();
  answered(await grantTo(projectId, await organization(postern), ["c"]));
  const path = `/v1/projects/${projectId}`;
  expect((await lists(path, inside(other))).project.id).toBe(projectId);
  const { roles } = await lists(`${path}/roles`, inside(other));
  expect(roles.map(({ key }: { key: string }) => key)).toEqual(["a", "b"]);
  const { projectGrants } = await lists(`${path}/grants`, inside(other));
  expect(projectGrants).toMatchObject([
    { id: projectGrantId, projectId, grantedOrganizationId: other, roleKeys: ["a", "b"] },
  ]);
  expect((await lists(`${path}/grants`)).projectGrants).toHaveLength(2);
  const writes = [
    postern.admin.delete(path, inside(other)),
    postern.admin.post(`${path}/roles`, { key: "d" }, inside(other)),
    postern.admin.delete(`${path}/roles/a`, inside(other)),
    postern.admin.post(`${path}/grants`, { grantedOrganizationId: other }, inside(other)),
    postern.admin.delete(`${path}/grants/${projectGrantId}`, inside(other)),
  ];
  for (const write of await Promise.all(writes)) expect(refused(write)).toEqual([404, "PROJECT_NOT_FOUND"]);
  const stranger = inside(await organization(postern));
  for (const read of ["", "/roles", "/grants"])
    expect(refused(await postern.admin.get(path + read, stranger))).toEqual([404, "PROJECT_NOT_FOUND"]);
});

test("a role that is removed leaves every grant, and a grant that is revoked takes what rests on it", async () => {
  const { projectId, other, projectGrantId, userId } = await lent();
  const grants = `/v1/users/${userId}/grants`;
  const own = answered(await postern.admin.post(grants, { projectId, roleKeys: ["a", "c"] })).userGrantId;
  const theirs = answered(
    await postern.admin.post(grants, { projectId, projectGrantId, roleKeys: ["a", "b"] }, inside(other)),
  ).userGrantId;
  answered(await postern.admin.delete(`/v1/projects/${projectId}/roles/a`));
  expect((await lists(`/v1/user-grants/${own}`)).userGrant).toMatchObject({
    roleKeys: ["c"],
    details: { sequence: "2" },
  });
  expect((await lists(`/v1/user-grants/${theirs}`, inside(other))).userGrant.roleKeys).toEqual(["b"]);
  expect((await lists(`/v1/projects/${projectId}/grants`)).projectGrants[0].roleKeys).toEqual(["b"]);
  const members = `/v1/projects/${projectId}/grants/${projectGrantId}/members`;
  answered(await postern.admin.post(members, { userId, roles: ["PROJECT_GRANT_OWNER"] }, inside(other)));
  answered(await postern.admin.delete(`/v1/projects/${projectId}/grants/${projectGrantId}`));
  expect(refused(await postern.admin.get(`/v1/user-grants/${theirs}`, inside(other)))).toEqual([
    404,
    "USER_GRANT_NOT_FOUND",
  ]);
  expect(refused(await postern.admin.get(members, inside(other)))).toEqual([404, "PROJECT_GRANT_NOT_FOUND"]);
  const { events } = await lists(`/v1/events?instance=true&objectId=${theirs}`);
  expect(events.map(({ type }: { type: string }) => type)).toEqual([
    "user_grant.removed",
    "user_grant.role_removed",
    "user_grant.added",
  ]);
});

test("a project that is deleted takes everything with it, as facts of the same call", async () => {
  const { projectId, other, projectGrantId, userId } = await lent();
  const path = `/v1/projects/${projectId}`;
  const grants = `/v1/users/${userId}/grants`;
  answered(await postern.admin.post(grants, { projectId, roleKeys: ["a"] }));
  answered(await postern.admin.post(grants, { projectId, projectGrantId, roleKeys: ["a"] }, inside(other)));
  answered(await postern.admin.post(`${path}/applications/oidc`, { name: "App" }));
  answered(await postern.admin.post(`${path}/members`, { userId, roles: ["PROJECT_OWNER"] }));
  const members = `${path}/grants/${projectGrantId}/members`;
  answered(await postern.admin.post(members, { userId, roles: ["PROJECT_GRANT_OWNER"] }, inside(other)));
  const { headers, body } = await postern.admin.delete(path);
  expect(body.details.sequence).toBe("5");
  const { events } = await lists("/v1/events?instance=true&pageSize=10");
  const made = events.filter(({ requestId }: { requestId: string }) => requestId === headers.get("x-request-id"));
  expect(made.map(({ type }: { type: string }) => type).sort()).toEqual([
    "application.deleted",
    "member.removed",
    "member.removed",
    "project.deleted",
    "project_grant.revoked",
    "user_grant.removed",
    "user_grant.removed",
  ]);
});

test("nothing stale stays when roles, grants and projects go while they are being given", async () => {
  const { projectId, projectGrantId, other } = await lent();
  const users = await Promise.all(Array.from({ length: 12 }, () => machine(postern)));
  const give = users.map(({ userId }, at) =>
    at % 2
      ? postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["a", "c"] })
      : postern.admin.post(`/v1/users/${userId}/grants`, { projectId, projectGrantId, roleKeys: ["a"] }, inside(other)),
  );
  const take = postern.admin.delete(`/v1/projects/${projectId}/roles/a`);
  const answers = await Promise.all([...give, take]);
  for (const { status } of answers) expect([200, 400]).toContain(status);
  const stale = async (table: string) => {
    await using client = oneConnection(postern.databaseUrl);
    return await client.sql.unsafe(
      `select role_key from ${table} where project_id = '${projectId}' and role_key = 'a'`,
    );
  };
  expect(await stale("user_grant_roles")).toHaveLength(0);
  expect(await stale("project_grant_roles")).toHaveLength(0);
  const late = users.map(({ userId }) =>
    postern.admin.post(`/v1/users/${userId}/grants`, { projectId, projectGrantId, roleKeys: ["b"] }, inside(other)),
  );
  const [gone] = await Promise.all([postern.admin.delete(`/v1/projects/${projectId}`), ...late]);
  answered(gone);
  await using client = oneConnection(postern.databaseUrl);
  expect(await client.sql`select from user_grants where project_id = ${projectId}`).toHaveLength(0);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});
