import { type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { permissionsOf } from "../../src/guards/permissions.ts";
import { connect, foreignApplication } from "../fixture/connection.ts";
import { enrolTotp } from "../fixture/factors.ts";
import { endedElsewhere, grantedElsewhere } from "../fixture/roles_elsewhere.ts";
import { type Client, machine, organization, type Postern, signedUp, startPostern } from "../harness.ts";
import { openProbe } from "../probe.ts";
import { methods, nameOf } from "./methods.ts";

let postern: Postern;
let acme: string;
let headers: Record<string, string>;
let projectId: string;
let projectGrantId: string;
let otherProjectId: string;
const people = new Map<string, { userId: string; client: Client }>();

beforeAll(async () => {
  postern = await startPostern({ phoneSendsPerNumber: 10_000, mailSendsPerAddress: 10_000 });
  acme = await organization(postern);
  headers = { "x-service-orgid": acme };
  projectId = (await postern.admin.post("/v1/projects", { name: "Rockets" }, headers)).body.projectId;
  await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "pilot" }, headers);
  const lender = await postern.admin.post("/v1/projects", { name: "Lent" });
  const grant = { grantedOrganizationId: acme, roleKeys: [] };
  projectGrantId = (await postern.admin.post(`/v1/projects/${lender.body.projectId}/grants`, grant)).body
    .projectGrantId;
  const lent = lender.body.projectId;
  await person("nobody", acme);
  for (const role of ["ORG_OWNER", "ORG_USER_MANAGER", "ORG_VIEWER"]) await person(role, acme, {});
  await person("PROJECT_OWNER", acme, { projectId });
  await person("PROJECT_GRANT_OWNER", acme, { projectId: lent, projectGrantId });
  await person("PROJECT_VIEWER", acme, { projectId });
  await person("PROJECT_EVALUATOR", acme, { projectId });
  await person("PROJECT_GRANT_VIEWER", acme, { projectId: lent, projectGrantId });
  for (const role of ["INSTANCE_OWNER", "INSTANCE_VIEWER"]) await person(role, acme, { instance: true });
  for (const role of foreign) await person(role, acme);
  const other = { "x-service-orgid": await organization(postern) };
  await postern.admin.post("/v1/members", { userId: idOf("OTHER_ORG_OWNER"), roles: ["ORG_OWNER"] }, other);
  otherProjectId = (await postern.admin.post("/v1/projects", { name: "Elsewhere" })).body.projectId;
  const evaluator = {
    userId: idOf("OTHER_PROJECT_EVALUATOR"),
    roles: ["PROJECT_EVALUATOR"],
    projectId: otherProjectId,
  };
  await postern.admin.post("/v1/members", evaluator);
}, 600_000);
afterAll(() => postern[Symbol.asyncDispose]());

async function person(role: string, organizationId: string, scope?: object): Promise<void> {
  const { userId, client } = await signedUp(postern, { organizationId });
  people.set(role, { userId, client });
  if (!scope) return;
  const added = await postern.admin.post("/v1/members", { userId, roles: [role], ...scope }, headers);
  expect(added.status, JSON.stringify(added.body)).toBe(200);
}

const of = (role: string) => people.get(role)?.client as Client;
const idOf = (role: string) => people.get(role)?.userId as string;

const readers = ["PROJECT_VIEWER", "PROJECT_GRANT_VIEWER", "PROJECT_EVALUATOR"];
const onProjects = ["PROJECT_OWNER", "PROJECT_GRANT_OWNER", ...readers];

// Roles that other organizations give.
const foreign = ["OTHER_ORG_OWNER", "OTHER_PROJECT_EVALUATOR"];

// A caller may act for another user only if its permissions include all of that user's, each where it counts.
const covered: Readonly<Record<string, readonly string[]>> = {
  ORG_OWNER: ["nobody", "ORG_USER_MANAGER", "ORG_VIEWER", ...onProjects],
  ORG_USER_MANAGER: ["nobody", ...readers],
  INSTANCE_OWNER: [
    ...["nobody", "ORG_OWNER", "ORG_USER_MANAGER", "ORG_VIEWER", "INSTANCE_VIEWER"],
    ...[...onProjects, ...foreign],
  ],
};

/** Each write about a user lets the caller act as the user; or it stops the user, or gives nobody a way into its account. */
const kinds: Readonly<Record<string, "acts as" | "stops">> = {
  "UserService.SetPassword": "acts as",
  "UserService.CreateAccessToken": "acts as",
  "UserService.ChangePhone": "acts as",
  "UserService.VerifyPhone": "acts as",
  "UserService.ResendPhoneCode": "acts as",
  "UserService.RemovePhone": "acts as",
  "UserService.ChangeEmail": "acts as",
  "UserService.VerifyEmail": "acts as",
  "UserService.ResendEmailCode": "acts as",
  "UserService.InviteUser": "acts as",
  "UserService.ChangeUsername": "acts as",
  "FactorService.RenameFactor": "acts as",
  "FactorService.RemoveFactor": "acts as",
  "UserService.DeactivateUser": "stops",
  "UserService.ReactivateUser": "stops",
  "UserService.UnlockUser": "stops",
  "UserService.DeleteUser": "stops",
  "UserService.UpdateHumanUser": "stops",
  "UserService.UpdateMachineUser": "stops",
  "UserService.RevokeAccessToken": "stops",
  "ConsentService.DisconnectApplication": "stops",
  "SessionService.DeleteUserSessions": "stops",
  "SessionService.DeleteSession": "stops",
  "UserRoleService.EndUserRoles": "stops",
  "UserRoleService.AllowUserRoles": "stops",
};

const isCovered = (act: string, role: string, target: string): boolean =>
  (covered[role] ?? []).includes(target) || (kinds[act.split(" ")[0] ?? ""] === "stops" && foreign.includes(target));

type Act = (caller: Client, userId: string) => Promise<{ status: number; body: unknown }>;

const ofMachine = "UserService.UpdateMachineUser";

/** Every write about one user, done to somebody else. */
const acts: Readonly<Record<string, Act>> = {
  "UserService.SetPassword": (caller, userId) =>
    caller.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-77" }),
  "UserService.CreateAccessToken": (caller, userId) => caller.post(`/v1/users/${userId}/tokens`),
  "UserService.ChangePhone": (caller, userId) => caller.post(`/v1/users/${userId}/phone`, { phone }),
  "UserService.ChangePhone with the code returned": (caller, userId) =>
    caller.post(`/v1/users/${userId}/phone`, { phone, returnCode: {} }),
  "UserService.ChangePhone as verified": (caller, userId) =>
    caller.post(`/v1/users/${userId}/phone`, { phone, isVerified: true }),
  async "UserService.VerifyPhone"(caller, userId) {
    const { body } = await postern.admin.post(`/v1/users/${userId}/phone`, { phone, returnCode: {} });
    return caller.post(`/v1/users/${userId}/phone:verify`, { verificationCode: body.verificationCode });
  },
  async "UserService.ResendPhoneCode"(caller, userId) {
    await postern.admin.post(`/v1/users/${userId}/phone`, { phone, returnCode: {} });
    return caller.post(`/v1/users/${userId}/phone:resend`);
  },
  async "UserService.RemovePhone"(caller, userId) {
    await postern.admin.post(`/v1/users/${userId}/phone`, { phone, isVerified: true });
    return caller.delete(`/v1/users/${userId}/phone`);
  },
  "UserService.ChangeEmail": (caller, userId) => caller.post(`/v1/users/${userId}/email`, { email }),
  "UserService.ChangeEmail with the code returned": (caller, userId) =>
    caller.post(`/v1/users/${userId}/email`, { email, returnCode: {} }),
  "UserService.ChangeEmail as verified": (caller, userId) =>
    caller.post(`/v1/users/${userId}/email`, { email, isVerified: true }),
  async "UserService.VerifyEmail"(caller, userId) {
    const { body } = await postern.admin.post(`/v1/users/${userId}/email`, { email, returnCode: {} });
    return caller.post(`/v1/users/${userId}/email:verify`, { verificationCode: body.verificationCode });
  },
  async "UserService.ResendEmailCode"(caller, userId) {
    await postern.admin.post(`/v1/users/${userId}/email`, { email, returnCode: {} });
    return caller.post(`/v1/users/${userId}/email:resend`);
  },
  async "UserService.InviteUser"(caller, userId) {
    await withoutPassword(userId);
    return caller.post(`/v1/users/${userId}:invite`);
  },
  "UserService.DeactivateUser": (caller, userId) => caller.post(`/v1/users/${userId}:deactivate`),
  async "UserService.ReactivateUser"(caller, userId) {
    await postern.admin.post(`/v1/users/${userId}:deactivate`);
    return caller.post(`/v1/users/${userId}:reactivate`);
  },
  "UserService.UnlockUser": (caller, userId) => caller.post(`/v1/users/${userId}:unlock`),
  "UserService.DeleteUser": (caller, userId) => caller.delete(`/v1/users/${userId}`),
  "UserService.UpdateHumanUser": (caller, userId) =>
    caller.call("PATCH", `/v1/users/${userId}/human`, { givenName: "Augusta" }),
  [ofMachine]: (caller, userId) => caller.call("PATCH", `/v1/users/${userId}/machine`, { name: "Engine" }),
  "UserService.ChangeUsername": (caller, userId) =>
    caller.put(`/v1/users/${userId}/username`, { username: `${userId}-renamed` }),
  async "UserService.RevokeAccessToken"(caller, userId) {
    const { body } = await postern.admin.post(`/v1/users/${userId}/tokens`);
    return caller.delete(`/v1/users/${userId}/tokens/${body.tokenId}`);
  },
  async "FactorService.RenameFactor"(caller, userId) {
    return caller.put(`/v1/users/${userId}/factors/${await newFactor(userId)}/name`, { name: "Mine" });
  },
  async "FactorService.RemoveFactor"(caller, userId) {
    return caller.delete(`/v1/users/${userId}/factors/${await newFactor(userId)}`);
  },
  async "ConsentService.DisconnectApplication"(caller, userId) {
    return caller.delete(`/v1/users/${userId}/connected-applications/${await newConnection(userId)}`);
  },
  async "UserRoleService.EndUserRoles"(caller, userId) {
    return caller.post(`/v1/users/${userId}/roles:end`, { organizationId: await grantedElsewhere(postern, userId) });
  },
  async "UserRoleService.AllowUserRoles"(caller, userId) {
    return caller.post(`/v1/users/${userId}/roles:allow`, { organizationId: await endedElsewhere(postern, userId) });
  },
  async "SessionService.DeleteUserSessions"(caller, userId) {
    return caller.delete(`/v1/users/${userId}/sessions`);
  },
  async "SessionService.DeleteSession"(caller, userId) {
    const { body } = await postern.admin.get(`/v1/sessions?userId=${userId}`);
    return caller.delete(`/v1/sessions/${body.sessions[0].id}`);
  },
};

/** Sets the password of a user, who can sign in with it then. */
async function withPassword(userId: string) {
  const password = "Amber-Lantern-19";
  await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: password });
  const { username, details } = (await postern.admin.get(`/v1/users/${userId}`)).body.user;
  return { username: username as string, password, organizationId: details.resourceOwner as string };
}

/** Connects a user to an application of another organization. */
async function newConnection(userId: string): Promise<string> {
  const person = await withPassword(userId);
  const app = await foreignApplication(postern, person.organizationId);
  return (await connect(postern, { app, person, scope: "openid" })).app.appId;
}

/** Enrols a factor for a user, who signs in with a password that the administrator sets. */
async function newFactor(userId: string): Promise<string> {
  const { username: loginName, password } = await withPassword(userId);
  const { token } = (await postern.as().post("/v1/sessions", { loginName, password })).body;
  return (await enrolTotp(postern.as(token))).factorId;
}

/** Takes a user's password away, which no operation does: the target of an invitation has none. */
async function withoutPassword(userId: string): Promise<void> {
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`delete from passwords where user_id = ${userId}`;
}

const phone = "+41446681800";
const email = "ada@example.org";

/** Writes whose requests name a user and do nothing in the user's place, each with what holds them instead. */
const givesOrTakes = {
  "MemberService.AddMember": "the caller holds every permission of the roles that it gives",
  "MemberService.ChangeMember": "as AddMember; the roles that it takes are of a place that the caller administers",
  "MemberService.RemoveMember": "the roles that it takes are of a place that the caller administers",
  "UserService.CreateHumanUser": "the user that it names is a new one: an id that was ever used is refused",
  "UserService.CreateMachineUser": "as CreateHumanUser",
  "UserService.CreateUsers": "as CreateHumanUser",
  "UserGrantService.AddUserGrant": "it gives a role of a project, which is the project's to give",
  "UserGrantService.AddUserGrants": "it gives roles of projects, which are the projects' to give",
} as const satisfies Record<string, string>;

test("every write that names a user asks that the caller holds what the user holds", () => {
  const writes = methods.filter((method) => isWrite(method) && namesUser(method.input));
  const held = writes.filter((method) => !(nameOf(method) in givesOrTakes));
  for (const method of held) {
    const { coversUser, coversUserWhen, user, coversAtHome } = getOption(method, access);
    expect({ rpc: nameOf(method), coversUser, coversUserWhen, coversAtHome }).toEqual({
      rpc: nameOf(method),
      coversUser: user,
      coversUserWhen: [],
      coversAtHome: kinds[nameOf(method)] === "stops",
    });
  }
  const tried = new Set(Object.keys(acts).map((act) => act.split(" ")[0]));
  expect([...tried].sort()).toEqual(held.map(nameOf).sort());
  expect(Object.keys(kinds).sort()).toEqual(held.map(nameOf).sort());
  expect(Object.keys(givesOrTakes).every((rpc) => writes.some((method) => nameOf(method) === rpc))).toBe(true);
});

// An rpc that anyone may call, or that is about its caller, names nobody else.
const isWrite = (method: DescMethod) =>
  method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS &&
  getOption(method, access).who.case === "permission";

function namesUser({ fields }: DescMessage): boolean {
  return fields.some(
    ({ name, message }) => ["user_id", "session_id"].includes(name) || (message && namesUser(message)),
  );
}

test("a role that administers members has every permission of the roles that it can take there", () => {
  for (const [role, scope] of Object.entries(scopes)) {
    if (!permissionsOf([role]).has("member.write")) continue;
    for (const other of Object.keys(scopes).filter((one) => scopes[one] === scope))
      for (const permission of permissionsOf([other])) expect(permissionsOf([role]), other).toContain(permission);
  }
});

const scopes: Readonly<Record<string, string>> = {
  ...{ INSTANCE_OWNER: "instance", INSTANCE_VIEWER: "instance" },
  ...{ ORG_OWNER: "organization", ORG_USER_MANAGER: "organization", ORG_VIEWER: "organization" },
  ...{ PROJECT_OWNER: "project", PROJECT_GRANT_OWNER: "project_grant" },
  ...{ PROJECT_VIEWER: "project", PROJECT_GRANT_VIEWER: "project_grant", PROJECT_EVALUATOR: "project" },
};

describe.each(Object.keys(acts))("who may %s", (act) => {
  test.each(Object.keys(covered))("%s", async (role) => {
    for (const target of [...people.keys()].filter((one) => one !== role)) {
      const fresh = await twin(target, act);
      const answer = await acts[act]?.(of(role), fresh);
      const allowed = isCovered(act, role, target);
      expect({ target, status: answer?.status, body: answer?.body }).toMatchObject({
        target,
        status: allowed ? 200 : 403,
      });
    }
  });
});

/** Somebody new who holds what the other holds: the acts change their target. */
async function twin(role: string, act: string): Promise<string> {
  const { userId } = await (act === ofMachine ? machine : signedUp)(postern, { organizationId: acme });
  const memberships: Readonly<Record<string, [object, Record<string, string>]>> = {
    PROJECT_OWNER: [{ roles: ["PROJECT_OWNER"], projectId }, headers],
    PROJECT_GRANT_OWNER: [{ roles: ["PROJECT_GRANT_OWNER"], projectGrantId }, headers],
    PROJECT_VIEWER: [{ roles: ["PROJECT_VIEWER"], projectId }, headers],
    PROJECT_GRANT_VIEWER: [{ roles: ["PROJECT_GRANT_VIEWER"], projectGrantId }, headers],
    PROJECT_EVALUATOR: [{ roles: ["PROJECT_EVALUATOR"], projectId }, headers],
    INSTANCE_OWNER: [{ roles: ["INSTANCE_OWNER"], instance: true }, {}],
    INSTANCE_VIEWER: [{ roles: ["INSTANCE_VIEWER"], instance: true }, {}],
    OTHER_ORG_OWNER: [{ roles: ["ORG_OWNER"] }, {}],
    OTHER_PROJECT_EVALUATOR: [{ roles: ["PROJECT_EVALUATOR"], projectId: otherProjectId }, {}],
  };
  if (role === "nobody") return userId;
  const [membership, where] = memberships[role] ?? [{ roles: [role] }, headers];
  const added = await postern.admin.post("/v1/members", { userId, ...membership }, where);
  expect(added.status, JSON.stringify(added.body)).toBe(200);
  return userId;
}

test("nobody else may act in anybody's place", async () => {
  for (const role of ["nobody", "ORG_VIEWER", "INSTANCE_VIEWER", ...onProjects])
    for (const [act, attempt] of Object.entries(acts)) {
      const { status } = await attempt(of(role), await twin("nobody", act));
      expect({ role, act, status }).toMatchObject({ status: 403 });
    }
});

test("for oneself a token may be made, but no phone verified and no code returned", async () => {
  const { userId, client } = await signedUp(postern, { organizationId: acme });
  expect((await acts["UserService.CreateAccessToken"]?.(client, userId))?.status).toBe(200);
  expect((await acts["UserService.ChangePhone as verified"]?.(client, userId))?.status).toBe(403);
  expect((await acts["UserService.ChangePhone with the code returned"]?.(client, userId))?.status).toBe(403);
  expect((await client.post(`/v1/users/${userId}/phone`, { phone: "+41446681800", isVerified: false })).status).toBe(
    200,
  );
  expect((await client.post(`/v1/users/${userId}/phone:resend`, { returnCode: {} })).status).toBe(403);
});

// Which roles a role may give, in the scope it is held in.
const gives: readonly [string, string, () => object, boolean][] = [
  ["ORG_OWNER", "ORG_OWNER", () => ({}), true],
  ["ORG_OWNER", "ORG_VIEWER", () => ({}), true],
  ["ORG_OWNER", "PROJECT_OWNER", () => ({ projectId }), true],
  ["ORG_OWNER", "PROJECT_GRANT_OWNER", () => ({ projectGrantId }), true],
  ["ORG_OWNER", "INSTANCE_OWNER", () => ({ instance: true }), false],
  ["ORG_OWNER", "INSTANCE_VIEWER", () => ({}), false],
  ["ORG_USER_MANAGER", "ORG_USER_MANAGER", () => ({}), false],
  ["PROJECT_OWNER", "PROJECT_OWNER", () => ({ projectId }), true],
  ["PROJECT_OWNER", "PROJECT_VIEWER", () => ({ projectId }), true],
  ["PROJECT_OWNER", "ORG_OWNER", () => ({}), false],
  ["PROJECT_VIEWER", "PROJECT_VIEWER", () => ({ projectId }), false],
  ["PROJECT_OWNER", "PROJECT_EVALUATOR", () => ({ projectId }), true],
  ["PROJECT_GRANT_OWNER", "PROJECT_GRANT_OWNER", () => ({ projectGrantId }), true],
  ["PROJECT_GRANT_OWNER", "PROJECT_GRANT_VIEWER", () => ({ projectGrantId }), true],
  ["INSTANCE_OWNER", "INSTANCE_OWNER", () => ({ instance: true }), true],
  ["INSTANCE_VIEWER", "INSTANCE_VIEWER", () => ({ instance: true }), false],
];

test.each(gives)("%s gives %s: where %#", async (role, given, scope, allowed) => {
  const { userId } = await machine(postern, { organizationId: acme });
  const added = await of(role).post("/v1/members", { userId, roles: [given], ...scope() }, headers);
  expect({ status: added.status, body: added.body }).toMatchObject({ status: allowed ? 200 : 403 });
  const weaker = { userId, roles: [given], ...scope() };
  if (!allowed) await postern.admin.post("/v1/members", weaker, headers);
  const changed = await of(role).put(`/v1/members/${userId}`, { roles: [given], ...scope() }, headers);
  if (!allowed) expect(changed.status).toBe(403);
});
