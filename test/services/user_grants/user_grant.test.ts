import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type Client, machine, organization, type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
/** Owns the projects. */
let ours: string;
/** Is granted them. */
let theirs: string;

beforeAll(async () => {
  postern = await sharedPostern();
  ours = postern.organizationId;
  theirs = await organization(postern);
});
afterAll(() => postern[Symbol.asyncDispose]());

const inOrganization = (id: string) => ({ "x-service-orgid": id });

async function newProject(roleKeys: readonly string[] = ["admin", "user"]): Promise<string> {
  const { body } = await postern.admin.post("/v1/projects", { name: `Project ${randomUUID()}` });
  for (const key of roleKeys) await postern.admin.post(`/v1/projects/${body.projectId}/roles`, { key });
  return body.projectId;
}

async function granted(projectId: string, roleKeys: readonly string[]): Promise<string> {
  const wanted = { grantedOrganizationId: theirs, roleKeys };
  const { status, body } = await postern.admin.post(`/v1/projects/${projectId}/grants`, wanted);
  expect(status).toBe(200);
  return body.projectGrantId;
}

const newUser = async () => (await machine(postern)).userId;
const add = (userId: string, body: object, client: Client = postern.admin, headers = {}) =>
  client.post(`/v1/users/${userId}/grants`, body, headers);
const addAll = (body: object, headers = {}, client: Client = postern.admin) =>
  client.post("/v1/user-grants:batchAdd", body, headers);
const read = (id: string, headers = {}) => postern.admin.get(`/v1/user-grants/${id}`, headers);

async function added(userId: string, body: object, headers = {}): Promise<string> {
  const answer = await add(userId, body, postern.admin, headers);
  expect(answer.body).toEqual({ userGrantId: expect.any(String), details: expect.any(Object) });
  return answer.body.userGrantId;
}

/** Somebody who holds one role on one object only. */
async function holder(path: string, role: string, organizationId = ours): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  const member = await postern.admin.post(`${path}/members`, { userId, roles: [role] }, inOrganization(organizationId));
  expect(member.status).toBe(200);
  return client;
}

type Detail = {
  readonly reason?: string;
  readonly metadata?: Record<string, string>;
  readonly fieldViolations?: { field: string; description: string; reason: string }[];
  readonly resourceType?: string;
  readonly resourceName?: string;
  readonly locale?: string;
};
type Status = { readonly code: number; readonly message: string; readonly details: readonly Detail[] };

const reasonOf = (status: Status) => status.details.find(({ reason }) => reason)?.reason;
const metadataOf = (status: Status) => status.details.find(({ reason }) => reason)?.metadata;
const fieldsOf = (status: Status) =>
  status.details.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
const resourceOf = (status: Status) => status.details.find(({ resourceType }) => resourceType)?.resourceName;
const refusal = ({ status, body }: Answer) => [status, reasonOf(body)];
const outcomesOf = ({ body }: Answer) =>
  body.outcomes.map(({ added, refused }: { added?: object; refused?: Status }) =>
    added ? "added" : refused && reasonOf(refused),
  );

test("a grant is added, read, listed, changed and removed, one version after another", async () => {
  const projectId = await newProject();
  const userId = await newUser();
  const first = await add(userId, { projectId, roleKeys: ["user", "admin"] });
  expect(first.status).toBe(200);
  const { userGrantId, details } = first.body;
  expect(details).toEqual({
    sequence: "1",
    creationDate: expect.any(String),
    changeDate: details.creationDate,
    resourceOwner: ours,
  });
  const states = { state: "USER_GRANT_STATE_ACTIVE", projectState: "PROJECT_STATE_ACTIVE", inEffect: true };
  const whole = { id: userGrantId, details, userId, projectId, roleKeys: ["admin", "user"], ...states };
  expect((await read(userGrantId)).body).toEqual({ userGrant: whole });
  expect((await postern.admin.get(`/v1/users/${userId}/grants`)).body.userGrants).toEqual([whole]);
  const changed = await postern.admin.put(`/v1/user-grants/${userGrantId}`, { roleKeys: ["user"] });
  expect(changed.body.details).toMatchObject({ sequence: "2", creationDate: details.creationDate });
  const after = { ...whole, details: changed.body.details, roleKeys: ["user"] };
  expect((await read(userGrantId)).body.userGrant).toEqual(after);
  const removed = await postern.admin.delete(`/v1/user-grants/${userGrantId}`);
  expect(removed.body.details.sequence).toBe("3");
  expect(refusal(await read(userGrantId))).toEqual([404, "USER_GRANT_NOT_FOUND"]);
  expect(refusal(await postern.admin.delete(`/v1/user-grants/${userGrantId}`))).toEqual([404, "USER_GRANT_NOT_FOUND"]);
  expect(await added(userId, { projectId })).not.toBe(userGrantId);
});

test("a grant may hold no roles, and the roles it has already are no change", async () => {
  const projectId = await newProject();
  const id = await added(await newUser(), { projectId });
  const path = `/v1/user-grants/${id}`;
  expect((await read(id)).body.userGrant.roleKeys).toEqual([]);
  expect((await postern.admin.put(path, { roleKeys: [] })).body.details.sequence).toBe("1");
  expect((await postern.admin.put(path, { roleKeys: ["user", "admin"] })).body.details.sequence).toBe("2");
  expect((await postern.admin.put(path, { roleKeys: ["admin", "user"] })).body.details.sequence).toBe("2");
  const events = await postern.admin.get(`/v1/events?objectId=${id}`);
  expect(events.body.events.map(({ type }: { type: string }) => type)).toEqual([
    "user_grant.changed",
    "user_grant.added",
  ]);
});

test("roles are added to a grant and taken from it, and those that are there or not already change nothing", async () => {
  const projectId = await newProject(["a", "b", "c"]);
  const id = await added(await newUser(), { projectId, roleKeys: ["a"] });
  const change = async (verb: string, roleKeys: readonly string[]) => {
    const { status, body } = await postern.admin.post(`/v1/user-grants/${id}:${verb}`, { roleKeys });
    expect([status, body]).toEqual([200, { details: expect.any(Object) }]);
    const { userGrant } = (await read(id)).body;
    expect(userGrant.details).toEqual(body.details);
    return [body.details.sequence, userGrant.roleKeys];
  };
  expect(await change("addRoles", ["b", "a"])).toEqual(["2", ["a", "b"]]);
  expect(await change("addRoles", ["b"])).toEqual(["2", ["a", "b"]]);
  expect(await change("removeRoles", ["a", "c", "ghost"])).toEqual(["3", ["b"]]);
  expect(await change("removeRoles", ["a"])).toEqual(["3", ["b"]]);
  expect(await change("removeRoles", ["b"])).toEqual(["4", []]);
  const unknown = await postern.admin.post(`/v1/user-grants/${id}:addRoles`, { roleKeys: ["a", "ghost"] });
  expect([...refusal(unknown), fieldsOf(unknown.body)]).toEqual([400, "ROLE_UNKNOWN", ["roleKeys[1]"]]);
  const nobodys = await postern.admin.post(`/v1/user-grants/${randomUUID()}:removeRoles`, { roleKeys: ["a"] });
  expect(refusal(nobodys)).toEqual([404, "USER_GRANT_NOT_FOUND"]);
});

test("every unknown role is named, in an addition and in a change", async () => {
  const projectId = await newProject();
  const userId = await newUser();
  const roleKeys = ["ghost", "user", "phantom"];
  const refused = await add(userId, { projectId, roleKeys });
  expect(refusal(refused)).toEqual([400, "ROLE_UNKNOWN"]);
  expect(fieldsOf(refused.body)).toEqual(["roleKeys[0]", "roleKeys[2]"]);
  const id = await added(userId, { projectId, roleKeys: ["user"] });
  const change = await postern.admin.put(`/v1/user-grants/${id}`, { roleKeys });
  expect(refusal(change)).toEqual([400, "ROLE_UNKNOWN"]);
  expect(fieldsOf(change.body)).toEqual(["roleKeys[0]", "roleKeys[2]"]);
});

test("a role that is named twice is refused by the field", async () => {
  const refused = await add(await newUser(), { projectId: await newProject(), roleKeys: ["user", "user"] });
  expect(refusal(refused)).toEqual([400, "VALIDATION_FAILED"]);
});

test("a grant that is there already is named", async () => {
  const projectId = await newProject();
  const userId = await newUser();
  const id = await added(userId, { projectId });
  const refused = await add(userId, { projectId, roleKeys: ["user"] });
  expect(refusal(refused)).toEqual([409, "USER_GRANT_EXISTS"]);
  expect(metadataOf(refused.body)).toEqual({ userGrantId: id });
  expect(resourceOf(refused.body)).toBe(id);
});

test("a refused addition leaves no answer under its key, beside others that are added in the same moment", async () => {
  const [userId, projectId] = [await newUser(), await newProject()];
  const users = await Promise.all(Array.from({ length: 5 }, newUser));
  const keyed = () => ({ "idempotency-key": randomUUID() });
  const [key, keys] = [keyed(), users.map(keyed)];
  const wanted = { projectId, roleKeys: ["later"] };
  const [refused, ...others] = await Promise.all([
    add(userId, wanted, postern.admin, key),
    ...users.map((user, n) => add(user, { projectId, roleKeys: ["user"] }, postern.admin, keys[n])),
  ]);
  expect(refused?.status).toBe(400);
  expect(others.map(({ status }) => status)).toEqual(users.map(() => 200));
  await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "later" });
  const later = await add(userId, wanted, postern.admin, key);
  expect(later.status).toBe(200);
  expect((await add(userId, wanted, postern.admin, key)).body).toEqual(later.body);
  const again = users.map((user, n) => add(user, { projectId, roleKeys: ["user"] }, postern.admin, keys[n]));
  expect((await Promise.all(again)).map(({ body }) => body)).toEqual(others.map(({ body }) => body));
});

test("an unknown user, project and project grant are missing", async () => {
  const projectId = await newProject();
  const userId = await newUser();
  expect(refusal(await add("nobody", { projectId }))).toEqual([404, "USER_NOT_FOUND"]);
  expect(refusal(await add(userId, { projectId: "none" }))).toEqual([404, "PROJECT_NOT_FOUND"]);
  expect(refusal(await add(userId, { projectId, projectGrantId: "none" }))).toEqual([404, "PROJECT_GRANT_NOT_FOUND"]);
});

test("a granted project needs its project grant, and gives its subset of the roles", async () => {
  const projectId = await newProject();
  const projectGrantId = await granted(projectId, ["user"]);
  const userId = await newUser();
  const there = inOrganization(theirs);
  const without = await add(userId, { projectId, roleKeys: ["user"] }, postern.admin, there);
  expect(refusal(without)).toEqual([400, "PROJECT_GRANT_NEEDED"]);
  expect(metadataOf(without.body)).toEqual({ projectId, organizationId: theirs, projectGrantId });
  expect(fieldsOf(without.body)).toEqual(["projectGrantId"]);
  const roleKeys = ["admin", "user"];
  const beyond = await add(userId, { projectId, projectGrantId, roleKeys }, postern.admin, there);
  expect(refusal(beyond)).toEqual([400, "ROLE_UNKNOWN"]);
  expect(fieldsOf(beyond.body)).toEqual(["roleKeys[0]"]);
  const id = await added(userId, { projectId, projectGrantId, roleKeys: ["user"] }, there);
  const { userGrant } = (await read(id, there)).body;
  expect(userGrant).toMatchObject({
    projectId,
    projectGrantId,
    roleKeys: ["user"],
    details: { resourceOwner: theirs },
  });
  const change = await postern.admin.put(`/v1/user-grants/${id}`, { roleKeys }, there);
  expect(refusal(change)).toEqual([400, "ROLE_UNKNOWN"]);
});

test("a project grant counts for its own project and organization only", async () => {
  const projectId = await newProject();
  const other = await newProject();
  const projectGrantId = await granted(projectId, ["user"]);
  const userId = await newUser();
  const there = inOrganization(theirs);
  const ofOther = await add(userId, { projectId: other, projectGrantId }, postern.admin, there);
  expect(refusal(ofOther)).toEqual([404, "PROJECT_NOT_FOUND"]);
  await granted(other, []);
  const ofAnother = await add(userId, { projectId: other, projectGrantId }, postern.admin, there);
  expect(refusal(ofAnother)).toEqual([404, "PROJECT_GRANT_NOT_FOUND"]);
  expect(refusal(await add(userId, { projectId, projectGrantId }))).toEqual([404, "PROJECT_GRANT_NOT_FOUND"]);
});

test("a grant is out of sight in every other organization", async () => {
  const projectId = await newProject();
  const userId = await newUser();
  const id = await added(userId, { projectId });
  const there = inOrganization(theirs);
  const path = `/v1/user-grants/${id}`;
  expect(refusal(await read(id, there))).toEqual([404, "USER_GRANT_NOT_FOUND"]);
  expect(refusal(await postern.admin.put(path, { roleKeys: [] }, there))).toEqual([404, "USER_GRANT_NOT_FOUND"]);
  expect(refusal(await postern.admin.delete(path, there))).toEqual([404, "USER_GRANT_NOT_FOUND"]);
  expect((await postern.admin.get(`/v1/users/${userId}/grants`, there)).body.userGrants).toEqual([]);
});

test("the same user may be granted a project by its owner and by an organization it is granted to", async () => {
  const projectId = await newProject();
  const projectGrantId = await granted(projectId, ["user"]);
  const userId = await newUser();
  await added(userId, { projectId, roleKeys: ["admin"] });
  await added(userId, { projectId, projectGrantId }, inOrganization(theirs));
});

test("lists are newest first, page by page, by user and by project", async () => {
  const projectId = await newProject();
  const users = [await newUser(), await newUser(), await newUser()];
  const ids: string[] = [];
  for (const userId of users) ids.push(await added(userId, { projectId, roleKeys: ["user"] }));
  await added(users[0] ?? "", { projectId: await newProject() });
  const path = `/v1/projects/${projectId}/user-grants`;
  const idsOf = ({ body }: Answer) => body.userGrants.map(({ id }: { id: string }) => id);
  const page = await postern.admin.get(`${path}?pageSize=2`);
  expect(idsOf(page)).toEqual([ids[2], ids[1]]);
  const rest = await postern.admin.get(`${path}?pageSize=2&pageToken=${page.body.nextPageToken}`);
  expect(idsOf(rest)).toEqual([ids[0]]);
  expect(rest.body.nextPageToken).toBe("");
  expect(idsOf(await postern.admin.get(`/v1/users/${users[0]}/grants`))).toHaveLength(2);
  const both = await postern.admin.get(`/v1/user-grants?userId=${users[0]}&projectId=${projectId}`);
  expect(idsOf(both)).toEqual([ids[0]]);
  expect(idsOf(await postern.admin.get("/v1/user-grants?pageSize=1000"))).toEqual(expect.arrayContaining(ids));
  const torn = await postern.admin.get(`${path}?pageToken=torn`);
  expect(refusal(torn)).toEqual([400, "PAGE_TOKEN_INVALID"]);
});

test("the owner of a project sees and makes grants of that project only", async () => {
  const [projectId, other] = [await newProject(), await newProject()];
  const owner = await holder(`/v1/projects/${projectId}`, "PROJECT_OWNER");
  const userId = await newUser();
  const hidden = await added(userId, { projectId: other });
  const id = (await add(userId, { projectId, roleKeys: ["user"] }, owner)).body.userGrantId;
  expect(refusal(await add(userId, { projectId: other }, owner))).toEqual([404, "PROJECT_NOT_FOUND"]);
  const listed = await owner.get(`/v1/users/${userId}/grants`);
  expect(listed.body.userGrants).toMatchObject([{ id }]);
  expect(refusal(await owner.get(`/v1/user-grants/${hidden}`))).toEqual([404, "USER_GRANT_NOT_FOUND"]);
  const items = [other, projectId].map((project) => ({ userId, projectId: project }));
  const batch = await addAll({ items }, {}, owner);
  expect(outcomesOf(batch)).toEqual(["PROJECT_NOT_FOUND", "USER_GRANT_EXISTS"]);
});

test("the owner of a project grant sees and makes grants through it only", async () => {
  const [projectId, other] = [await newProject(), await newProject()];
  const projectGrantId = await granted(projectId, ["user"]);
  const otherGrantId = await granted(other, ["user"]);
  const owner = await holder(`/v1/projects/${projectId}/grants/${projectGrantId}`, "PROJECT_GRANT_OWNER", theirs);
  const userId = await newUser();
  const hidden = await added(userId, { projectId: other, projectGrantId: otherGrantId }, inOrganization(theirs));
  const items = [
    { userId, projectId: other, projectGrantId: otherGrantId },
    { userId, projectId },
    { userId, projectId, projectGrantId, roleKeys: ["user"] },
  ];
  const batch = await addAll({ items }, {}, owner);
  expect(outcomesOf(batch)).toEqual(["PROJECT_NOT_FOUND", "PROJECT_GRANT_NEEDED", "added"]);
  const listed = await owner.get("/v1/user-grants");
  expect(listed.body.userGrants).toMatchObject([{ userId, projectGrantId }]);
  expect((await owner.get(`/v1/user-grants/${hidden}`)).status).toBe(404);
});

test("an application that views a project, or its grant, reads the user grants there and nothing else", async () => {
  const projectId = await newProject();
  const projectGrantId = await granted(projectId, ["user"]);
  const userId = await newUser();
  const own = await added(userId, { projectId, roleKeys: ["user"] });
  const through = await added(userId, { projectId, projectGrantId, roleKeys: ["user"] }, inOrganization(theirs));
  const viewers = [
    [own, await holder(`/v1/projects/${projectId}`, "PROJECT_VIEWER")],
    [through, await holder(`/v1/projects/${projectId}/grants/${projectGrantId}`, "PROJECT_GRANT_VIEWER", theirs)],
  ] as const;
  for (const [id, viewer] of viewers) {
    expect((await viewer.get(`/v1/projects/${projectId}/user-grants`)).body.userGrants).toMatchObject([{ id }]);
    expect((await viewer.get(`/v1/user-grants/${id}`)).body.userGrant).toMatchObject({ userId, roleKeys: ["user"] });
    expect((await viewer.get(`/v1/projects/${projectId}`)).status).toBe(200);
    const refused = [
      viewer.delete(`/v1/user-grants/${id}`),
      viewer.get(`/v1/users/${userId}`),
      viewer.get(`/v1/projects/${projectId}/applications`),
      viewer.get(`/v1/projects/${projectId}/members`),
    ];
    for (const answer of await Promise.all(refused)) expect(refusal(answer)).toEqual([403, "PERMISSION_DENIED"]);
  }
});

test("a caller without the permission is refused whatever it names", async () => {
  const { client, userId } = await machine(postern);
  const projectId = await newProject();
  expect(refusal(await add(userId, { projectId }, client))).toEqual([403, "PERMISSION_DENIED"]);
  expect(refusal(await addAll({ items: [{ userId, projectId }] }, {}, client))).toEqual([403, "PERMISSION_DENIED"]);
  expect(refusal(await client.get("/v1/user-grants/none"))).toEqual([403, "PERMISSION_DENIED"]);
});

test("a batch has an outcome for each item, as AddUserGrant would answer it", async () => {
  const projectId = await newProject();
  const [one, two] = [await newUser(), await newUser()];
  const there = await added(two, { projectId });
  const items = [
    { userId: one, projectId, roleKeys: ["user"] },
    { userId: two, projectId },
    { userId: "nobody", projectId },
    { userId: one, projectId: "none" },
    { userId: await newUser(), projectId, roleKeys: ["user", "ghost"] },
    { userId: one, projectId },
  ];
  const batch = await addAll({ items }, { "accept-language": "de" });
  expect(batch.status).toBe(200);
  expect(outcomesOf(batch)).toEqual([
    "added",
    "USER_GRANT_EXISTS",
    "USER_NOT_FOUND",
    "PROJECT_NOT_FOUND",
    "ROLE_UNKNOWN",
    "VALIDATION_FAILED",
  ]);
  const refused: Status[] = batch.body.outcomes.slice(1).map((outcome: { refused: Status }) => outcome.refused);
  expect(refused.map(({ code }) => code)).toEqual([6, 5, 5, 3, 3]);
  expect(resourceOf(refused[0] as Status)).toBe(there);
  expect(fieldsOf(refused[3] as Status)).toEqual(["items[4].roleKeys[1]"]);
  expect(fieldsOf(refused[4] as Status)).toEqual(["items[5]"]);
  expect(refused.every(({ details }) => details.some(({ locale }) => locale === "de"))).toBe(true);
  const { userGrant } = (await read(batch.body.outcomes[0].added.userGrantId)).body;
  expect(userGrant).toMatchObject({ userId: one, roleKeys: ["user"], details: batch.body.outcomes[0].added.details });
});

test("a malformed item is an outcome of that item, unless it is all or nothing", async () => {
  const projectId = await newProject();
  const [one, two] = [await newUser(), await newUser()];
  const items = [
    { userId: "", projectId, roleKeys: ["ghost"] },
    { userId: one, projectId: "a\u0000", roleKeys: ["user"] },
    { userId: one, projectId, roleKeys: ["user", "user"] },
    { userId: "nobody", projectId, roleKeys: [""] },
    { userId: two, projectId, roleKeys: ["user"] },
    { userId: one, projectId, projectGrantId: "\u0000" },
    {},
  ];
  const none = await addAll({ items, allOrNothing: true });
  expect(refusal(none)).toEqual([400, "VALIDATION_FAILED"]);
  const batch = await addAll({ items });
  const wrong = "VALIDATION_FAILED";
  expect(outcomesOf(batch)).toEqual([wrong, wrong, wrong, wrong, "added", wrong, wrong]);
  const refused: Status[] = batch.body.outcomes.flatMap(({ refused }: { refused?: Status }) => refused ?? []);
  expect(refused.map(fieldsOf)).toEqual([
    ["items[0].userId", "items[0].roleKeys[0]"],
    ["items[1].projectId"],
    ["items[2].roleKeys"],
    ["items[3].roleKeys[0]", "items[3].userId"],
    ["items[5].projectGrantId"],
    ["items[6].userId", "items[6].projectId"],
  ]);
});

test("all or nothing adds nothing and names every item that stands in the way", async () => {
  const projectId = await newProject();
  const userId = await newUser();
  const items = [
    { userId, projectId, roleKeys: ["user"] },
    { userId: "nobody", projectId },
    { userId: await newUser(), projectId, roleKeys: ["ghost"] },
  ];
  const refused = await addAll({ items, allOrNothing: true });
  expect(refusal(refused)).toEqual([404, "USER_NOT_FOUND"]);
  expect(fieldsOf(refused.body)).toEqual(["items[1].userId", "items[2].roleKeys[0]"]);
  const list = () => postern.admin.get(`/v1/projects/${projectId}/user-grants`);
  expect((await list()).body.userGrants).toEqual([]);
  const good = await addAll({ items: items.slice(0, 1), allOrNothing: true });
  expect(outcomesOf(good)).toEqual(["added"]);
  expect((await list()).body.userGrants).toHaveLength(1);
});

test("a batch lists as many violations as one refusal may, and each of its refusals says how many it leaves out", async () => {
  const projectId = await newProject();
  const userId = await newUser();
  const roleKeys = ["ghost", "spectre", "r".repeat(200)];
  const others = await Promise.all(Array.from({ length: 39 }, () => newUser()));
  const items = [userId, ...others].map((one) => ({ userId: one, projectId, roleKeys }));
  const batch = await addAll({ items });
  const refused: Status[] = batch.body.outcomes.map((outcome: { refused: Status }) => outcome.refused);
  expect(refused.map(reasonOf)).toEqual(items.map(() => "ROLE_UNKNOWN"));
  const lists = refused.map((status) => fieldsOf(status).length);
  expect(lists).toEqual([...Array(33).fill(3), 1, ...Array(6).fill(0)]);
  const omitted = refused.map((status) => Number(metadataOf(status)?.omitted ?? 0));
  expect(omitted).toEqual(lists.map((listed) => 3 - listed));
  const descriptions = refused.flatMap(({ details }) => details.flatMap(({ fieldViolations = [] }) => fieldViolations));
  expect(Math.max(...descriptions.map(({ description }) => description.length))).toBe(200);

  const together = await addAll({ items, allOrNothing: true });
  expect(refusal(together)).toEqual([400, "ROLE_UNKNOWN"]);
  expect(fieldsOf(together.body)).toHaveLength(100);
  expect(metadataOf(together.body)).toMatchObject({ omitted: "20" });
});

test("a batch repeated with its key answers what it answered first", async () => {
  const projectId = await newProject();
  const body = {
    items: [
      { userId: await newUser(), projectId },
      { userId: "nobody", projectId },
    ],
  };
  const key = { "idempotency-key": randomUUID() };
  const first = await addAll(body, key);
  expect(outcomesOf(first)).toEqual(["added", "USER_NOT_FOUND"]);
  expect((await addAll(body, key)).body).toEqual(first.body);
});

test("a batch takes a thousand items and not one more", async () => {
  const projectId = await newProject();
  const users = [await newUser(), await newUser(), await newUser()];
  const items = Array.from({ length: 1000 }, (_, n) => ({ userId: users[n] ?? `nobody${n}`, projectId }));
  const batch = await addAll({ items });
  expect(outcomesOf(batch).filter((outcome: string) => outcome === "added")).toHaveLength(3);
  const more = await addAll({ items: [...items, { userId: "nobody", projectId }] });
  expect(refusal(more)).toEqual([400, "VALIDATION_FAILED"]);
});

test("what a grant refers to takes it along, or its role, as a fact", async () => {
  const projectId = await newProject();
  const projectGrantId = await granted(projectId, ["admin", "user"]);
  const [one, two] = [await newUser(), await newUser()];
  const there = inOrganization(theirs);
  const own = await added(one, { projectId, roleKeys: ["admin", "user"] });
  const lent = await added(one, { projectId, projectGrantId, roleKeys: ["admin", "user"] }, there);
  const gone = await added(two, { projectId, roleKeys: ["user"] });
  await postern.admin.delete(`/v1/projects/${projectId}/roles/admin`);
  const kept = { roleKeys: ["user"], details: { sequence: "2" } };
  expect((await read(own)).body.userGrant).toMatchObject(kept);
  expect((await read(lent, there)).body.userGrant).toMatchObject(kept);
  await postern.admin.delete(`/v1/users/${two}`);
  expect((await read(gone)).status).toBe(404);
  await postern.admin.delete(`/v1/projects/${projectId}/grants/${projectGrantId}`);
  expect((await read(lent, there)).status).toBe(404);
  expect((await read(own)).status).toBe(200);
  await postern.admin.delete(`/v1/projects/${projectId}`);
  expect((await read(own)).status).toBe(404);
  const events = await postern.admin.get(`/v1/events?objectId=${own}`);
  expect(events.body.events.map(({ type }: { type: string }) => type)).toEqual([
    "user_grant.removed",
    "user_grant.role_removed",
    "user_grant.added",
  ]);
});
