import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HumanUserUpdateSchema, UpdateHumanUserRequestSchema } from "../../../gen/postern/v1/user_pb.ts";
import { errorText } from "../../../src/messages/catalogue.ts";
import { changesOf, updateRule } from "../../../src/services/reading/update_mask.ts";
import { unique } from "../../events/log_of.ts";
import { type Answer, machine, organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

type Detail = { reason?: string; fieldViolations?: { field: string; description: string }[]; metadata?: object };
const infoOf = ({ body }: Answer): Detail => body.details.find(({ reason }: Detail) => reason !== undefined);
const refused = (answer: Answer) => [answer.status, infoOf(answer).reason];
const wrong = ({ body }: Answer) =>
  body.details.flatMap(({ fieldViolations = [] }: Detail) =>
    fieldViolations.map(({ field, description }) => `${field}: ${description}`),
  );
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const patch = (path: string, body: object, headers = {}) => postern.admin.call("PATCH", path, body, headers);
const read = async (path: string, headers = {}) => done(await postern.admin.get(path, headers));
const factsOf = async (id: string, headers = {}) =>
  (await read(`/v1/events?objectId=${id}`, headers)).events.map(({ type }: { type: string }) => type);

test("an organization gets another name, which is unique; the old one is free", async () => {
  const [id, other] = [await organization(postern), await organization(postern)];
  const before = (await read(`/v1/organizations/${id}`)).organization;
  const taken = (await read(`/v1/organizations/${other}`)).organization.name;
  expect(refused(await patch(`/v1/organizations/${id}`, { name: taken }))).toEqual([409, "ORGANIZATION_NAME_TAKEN"]);
  const name = unique("Renamed");
  const { details } = done(await patch(`/v1/organizations/${id}`, { name: ` ${name} ` }));
  expect(details).toMatchObject({ sequence: "2", creationDate: before.details.creationDate, resourceOwner: id });
  expect((await read(`/v1/organizations/${id}`)).organization).toEqual({
    id,
    name,
    details,
    state: "ORGANIZATION_STATE_ACTIVE",
    ownLoginNames: false,
    requiresAcceptance: false,
  });
  done(await postern.admin.post("/v1/organizations", { name: before.name }));
});

test("an owner of an organization renames it, and a user manager does not", async () => {
  const id = await organization(postern);
  for (const [role, status] of [
    ["ORG_OWNER", 200],
    ["ORG_USER_MANAGER", 403],
  ] as const) {
    const { userId, client } = await machine(postern, { organizationId: id });
    done(await postern.admin.post("/v1/members", { userId, roles: [role] }, inside(id)));
    expect((await client.call("PATCH", `/v1/organizations/${id}`, { name: unique("Own") })).status).toBe(status);
  }
});

test("a project gets another name, and one of its roles another display name; the key stays", async () => {
  const [name, taken] = [unique("Project"), unique("Project")];
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique("Project") }));
  done(await postern.admin.post("/v1/projects", { name: taken }));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "pilot", displayName: "Pilot" }));
  expect(refused(await patch(`/v1/projects/${projectId}`, { name: taken }))).toEqual([409, "PROJECT_NAME_TAKEN"]);
  expect(done(await patch(`/v1/projects/${projectId}`, { name })).details.sequence).toBe("3");
  const role = `/v1/projects/${projectId}/roles/pilot`;
  expect(done(await patch(role, { displayName: "Captain" })).details.sequence).toBe("4");
  expect((await read(`/v1/projects/${projectId}/roles`)).roles).toEqual([{ key: "pilot", displayName: "Captain" }]);
  done(await patch(role, { displayName: null }));
  expect((await read(`/v1/projects/${projectId}/roles`)).roles).toEqual([{ key: "pilot", displayName: "pilot" }]);
  expect((await read(`/v1/projects/${projectId}`)).project).toMatchObject({ name, details: { sequence: "5" } });
  expect(refused(await patch(`${role}s`, { displayName: "x" }))).toEqual([404, "ROLE_NOT_FOUND"]);
  expect(refused(await patch("/v1/projects/none", { name }))).toEqual([404, "PROJECT_NOT_FOUND"]);
});

test("an organization that was granted a project changes neither it nor its roles", async () => {
  const other = await organization(postern);
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique("Project") }));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "pilot" }));
  done(
    await postern.admin.post(`/v1/projects/${projectId}/grants`, {
      grantedOrganizationId: other,
      roleKeys: ["pilot"],
    }),
  );
  for (const [path, body] of [
    [`/v1/projects/${projectId}`, { name: "Mine" }],
    [`/v1/projects/${projectId}/roles/pilot`, { displayName: "Mine" }],
  ] as const)
    expect(refused(await patch(path, body, inside(other)))).toEqual([404, "PROJECT_NOT_FOUND"]);
});

test("the names of a human and of a machine change, each by its own operation", async () => {
  const { userId } = await signedUp(postern);
  const { userId: robot } = await machine(postern);
  done(await patch(`/v1/users/${userId}/human`, { givenName: "Augusta" }));
  const { human, details } = (await read(`/v1/users/${userId}`)).user;
  expect(human).toMatchObject({ givenName: "Augusta", familyName: "Byron" });
  expect(details.sequence).toBe("2");
  done(await patch(`/v1/users/${robot}/machine`, { name: "Engine" }));
  expect((await read(`/v1/users/${robot}`)).user.machine).toEqual({ name: "Engine" });
  expect(refused(await patch(`/v1/users/${robot}/human`, { givenName: "A" }))).toEqual([400, "USER_NOT_HUMAN"]);
  expect(refused(await patch(`/v1/users/${userId}/machine`, { name: "A" }))).toEqual([400, "USER_NOT_MACHINE"]);
  expect(refused(await patch("/v1/users/none/human", { givenName: "A" }))).toEqual([404, "USER_NOT_FOUND"]);
});

test("a user signs in by the new username at once and no longer by the old one, which another may take", async () => {
  const { userId, username, password, client } = await signedUp(postern);
  const { username: taken } = await machine(postern);
  const rename = (name: string) => postern.admin.put(`/v1/users/${userId}/username`, { username: name });
  const signIn = (loginName: string) => postern.as().post("/v1/sessions", { loginName, password });
  expect(refused(await rename(taken.toUpperCase()))).toEqual([409, "LOGIN_NAME_TAKEN"]);
  const next = unique("Countess");
  expect(done(await rename(` ${next} `)).details.sequence).toBe("2");
  expect((await signIn(username)).status).toBe(401);
  done(await signIn(next.toLowerCase()));
  expect(done(await client.get("/v1/users/me")).user.username).toBe(next);
  done(await postern.admin.post("/v1/users/machine", { username, name: "Robot" }));
  expect(refused(await rename(username))).toEqual([409, "LOGIN_NAME_TAKEN"]);
});

test("a username may change in its case only", async () => {
  const { userId, password } = await signedUp(postern);
  const name = unique("ada");
  for (const username of [name, name.toUpperCase(), name])
    done(await postern.admin.put(`/v1/users/${userId}/username`, { username }));
  expect((await read(`/v1/users/${userId}`)).user).toMatchObject({ username: name, details: { sequence: "4" } });
  done(await postern.as().post("/v1/sessions", { loginName: name.toUpperCase(), password }));
});

test("of many that take one username at once one gets it, and the others hear whose it is", async () => {
  const users = await Promise.all(Array.from({ length: 8 }, () => machine(postern)));
  const username = unique("wanted");
  const answers = await Promise.all(
    users.map(({ userId }) => postern.admin.put(`/v1/users/${userId}/username`, { username })),
  );
  const winner = users[answers.findIndex(({ status }) => status === 200)]?.userId;
  const losers = answers.filter(({ status }) => status !== 200);
  expect(losers.map(refused)).toEqual(Array(7).fill([409, "LOGIN_NAME_TAKEN"]));
  for (const loser of losers) expect(infoOf(loser).metadata).toMatchObject({ userId: winner });
});

test("a username of another organization is taken without saying whose it is", async () => {
  const own = await organization(postern);
  const manager = await machine(postern, { organizationId: own });
  done(await postern.admin.post("/v1/members", { userId: manager.userId, roles: ["ORG_OWNER"] }, inside(own)));
  const { username } = await machine(postern);
  const { userId } = await machine(postern, { organizationId: own });
  const answer = await manager.client.put(`/v1/users/${userId}/username`, { username });
  expect([...refused(answer), infoOf(answer).metadata]).toEqual([409, "LOGIN_NAME_TAKEN", { name: username }]);
});

test("what is so already is answered without an event", async () => {
  const { userId, username } = await signedUp(postern);
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique("Same") }));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "pilot" }));
  const { name } = (await read(`/v1/projects/${projectId}`)).project;
  const same = [
    await patch(`/v1/users/${userId}/human`, { givenName: "Ada", familyName: "Byron" }),
    await postern.admin.put(`/v1/users/${userId}/username`, { username }),
    await patch(`/v1/projects/${projectId}`, { name }),
    await patch(`/v1/projects/${projectId}/roles/pilot`, { displayName: "" }),
  ];
  expect(same.map((answer) => done(answer).details.sequence)).toEqual(["1", "1", "2", "2"]);
  expect(await factsOf(projectId)).toEqual(["project.role_added", "project.created"]);
});

test("an update for another sequence is refused at once, and says which one there is", async () => {
  const { userId } = await signedUp(postern);
  const path = `/v1/users/${userId}/human`;
  done(await patch(`${path}?expectedSequence=1`, { givenName: "Augusta" }));
  const late = await patch(`${path}?expectedSequence=1`, { givenName: "Grace" });
  expect([...refused(late), infoOf(late).metadata]).toEqual([409, "CONFLICT", { currentSequence: "2" }]);
  expect(late.body.message).toBe(errorText("CONFLICT_WITH_SEQUENCE", { currentSequence: 2 }));
  const name = { username: unique("late"), expectedSequence: "1" };
  expect(refused(await postern.admin.put(`/v1/users/${userId}/username`, name))).toEqual([409, "CONFLICT"]);
  done(await patch(`${path}?expectedSequence=2`, { givenName: "Grace" }));
});

test("the roles of a member and of a user grant are replaced only at the sequence that the request expects", async () => {
  const { userId } = await signedUp(postern);
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique("Roles") }));
  for (const key of ["a", "b"]) done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key }));
  const { userGrantId } = done(await postern.admin.post(`/v1/users/${userId}/grants`, { projectId }));
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }));
  const wholes = [
    [`/v1/user-grants/${userGrantId}`, { roleKeys: ["a"] }, { roleKeys: ["b"] }],
    [`/v1/members/${userId}`, { roles: ["ORG_USER_MANAGER"] }, { roles: ["ORG_OWNER"] }],
  ] as const;
  for (const [path, first, second] of wholes) {
    expect(done(await postern.admin.put(path, { ...first, expectedSequence: "1" })).details.sequence).toBe("2");
    const late = await postern.admin.put(path, { ...second, expectedSequence: "1" });
    expect([...refused(late), infoOf(late).metadata]).toEqual([409, "CONFLICT", { currentSequence: "2" }]);
    expect(done(await postern.admin.put(path, { ...second, expectedSequence: "2" })).details.sequence).toBe("3");
  }
});

test("of many updates for one sequence one is made, and the others are told the next", async () => {
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique("Race") }));
  const names = Array.from({ length: 10 }, () => unique("Race"));
  const answers = await Promise.all(
    names.map((name) => patch(`/v1/projects/${projectId}?expectedSequence=1`, { name })),
  );
  const lost = answers.filter(({ status }) => status !== 200);
  expect(lost.map((answer) => infoOf(answer).metadata)).toEqual(Array(9).fill({ currentSequence: "2" }));
  const { project } = await read(`/v1/projects/${projectId}`);
  expect(project.name).toBe(names[answers.findIndex(({ status }) => status === 200)]);
});

test("a path of the mask that is unknown or cannot change is refused by its name", async () => {
  const { userId } = await signedUp(postern);
  const path = `/v1/users/${userId}/human`;
  const masked = (mask: string) => patch(`${path}?updateMask=${mask}`, { givenName: "Eve" });
  expect(wrong(await masked("email,givenName,id"))).toEqual([
    `updateMask: ${errorText("MASK_PATH", { path: "email" })}`,
    `updateMask: ${errorText("MASK_PATH", { path: "id" })}`,
  ]);
  expect(wrong(await masked("givenName.first"))).toEqual([
    `updateMask: ${errorText("MASK_PATH", { path: "givenName.first" })}`,
  ]);
  expect(wrong(await masked("familyName"))).toEqual([`human.familyName: ${errorText("FIELD_REQUIRED")}`]);
  expect(wrong(await masked("*"))).toEqual([`human.familyName: ${errorText("FIELD_REQUIRED")}`]);
  expect(wrong(await patch(path, {}))).toEqual([`updateMask: ${errorText("MASK_NOTHING")}`]);
  expect(wrong(await patch(path, { givenName: null }))).toEqual([`human.givenName: ${errorText("FIELD_REQUIRED")}`]);
  expect(wrong(await patch(path, { givenName: " ", email: "eve@example.com" }))).toEqual([
    `human.email: ${errorText("FIELD_UNKNOWN")}`,
    `human.givenName: ${errorText("FIELD_REQUIRED")}`,
  ]);
  expect((await read(`/v1/users/${userId}`)).user).toMatchObject({
    human: { givenName: "Ada" },
    details: { sequence: "1" },
  });
});

test("twenty thousand paths are refused by a bounded answer", async () => {
  const { userId } = await signedUp(postern);
  const request = { userId, human: { givenName: "Eve" }, updateMask: Array(20_000).fill("a").join(",") };
  const answer = await postern.admin.post("/postern.v1.UserService/UpdateHumanUser", request);
  expect(answer.status).toBe(413);
  const fewer = { ...request, updateMask: Array(5000).fill("a").join(",") };
  const listed = await postern.admin.post("/postern.v1.UserService/UpdateHumanUser", fewer);
  expect(refused(listed)).toEqual([400, "VALIDATION_FAILED"]);
  expect(wrong(listed).length).toBeLessThanOrEqual(100);
});

test("only the fields of the mask change; without one, those that are populated", () => {
  const human = create(HumanUserUpdateSchema, { givenName: "Eve" });
  const changes = (...paths: string[]) =>
    changesOf(HumanUserUpdateSchema, human, { $typeName: "google.protobuf.FieldMask", paths });
  expect(changes("given_name")).toEqual({ givenName: "Eve" });
  expect(changes("family_name")).toEqual({ familyName: "" });
  expect(changes("*")).toEqual({ givenName: "Eve", familyName: "", language: "" });
  expect(changes()).toEqual({ givenName: "Eve" });
  expect(() => updateRule(UpdateHumanUserRequestSchema, "nobody")).toThrow("has no message nobody");
});
