import { randomBytes, randomInt } from "node:crypto";
import { afterAll, beforeAll, expect } from "vitest";
import { connect, foreignApplication } from "../fixture/connection.ts";
import { enrolTotp } from "../fixture/factors.ts";
import { newJwk } from "../fixture/jwk.ts";
import { endedElsewhere, grantedElsewhere } from "../fixture/roles_elsewhere.ts";
import { type Client, machine, organization, type Postern, signedUp, startPostern } from "../harness.ts";
import { openProbe } from "../probe.ts";

export let postern: Postern;
export let acme: string;
export let headers: Record<string, string>;
export let projectId: string;
export let projectGrantId: string;
let otherProjectId: string;
const people = new Map<string, { userId: string; client: Client }>();

/** Sets the stage of a file's tests: two organizations, projects, and somebody with each role. */
export function setStage(): void {
  beforeAll(openStage, 600_000);
  afterAll(() => postern[Symbol.asyncDispose]());
}

async function openStage(): Promise<void> {
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
}

async function person(role: string, organizationId: string, scope?: object): Promise<void> {
  const { userId, client } = await signedUp(postern, { organizationId });
  people.set(role, { userId, client });
  if (!scope) return;
  const added = await postern.admin.post("/v1/members", { userId, roles: [role], ...scope }, headers);
  expect(added.status, JSON.stringify(added.body)).toBe(200);
}

export const of = (role: string) => people.get(role)?.client as Client;
const idOf = (role: string) => people.get(role)?.userId as string;

const readers = ["PROJECT_VIEWER", "PROJECT_GRANT_VIEWER", "PROJECT_EVALUATOR"];
const onProjects = ["PROJECT_OWNER", "PROJECT_GRANT_OWNER", ...readers];

// Roles that other organizations give.
const foreign = ["OTHER_ORG_OWNER", "OTHER_PROJECT_EVALUATOR"];

/** Whom an act may be tried on: somebody with no role, and the holders of each role. */
export const targets = [
  "nobody",
  "ORG_OWNER",
  "ORG_USER_MANAGER",
  "ORG_VIEWER",
  ...onProjects,
  "INSTANCE_OWNER",
  "INSTANCE_VIEWER",
  ...foreign,
];

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
export const kinds: Readonly<Record<string, "acts as" | "stops">> = {
  "UserService.SetPassword": "acts as",
  "UserService.CreateAccessToken": "acts as",
  "MachineCredentialService.CreateMachineSecret": "acts as",
  "MachineCredentialService.AddMachineKey": "acts as",
  "MachineCredentialService.RemoveMachineCredential": "stops",
  "MachineCredentialService.SetMachineDelegation": "stops",
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
  "UserService.EraseUser": "stops",
  "UserService.RestoreUser": "stops",
  "UserService.UpdateHumanUser": "stops",
  "UserService.UpdateMachineUser": "stops",
  "UserService.SetUserMetadata": "stops",
  "UserService.RevokeAccessToken": "stops",
  "ConsentService.DisconnectApplication": "stops",
  "SessionService.DeleteUserSessions": "stops",
  "SessionService.DeleteSession": "stops",
  "UserRoleService.EndUserRoles": "stops",
  "UserRoleService.AllowUserRoles": "stops",
};

/** A user manager has no permission for these, whomever they are about. */
const ofOwners = ["UserService.EraseUser", "UserService.RestoreUser", "MachineCredentialService.SetMachineDelegation"];

// It needs the permission to change applications. Who has that on a project is not told whether the user exists.
const refusal = (act: string, role: string): number =>
  act === "MachineCredentialService.SetMachineDelegation" && role === "PROJECT_OWNER" ? 404 : 403;

const isCovered = (act: string, role: string, target: string): boolean =>
  !(role === "ORG_USER_MANAGER" && ofOwners.includes(act)) &&
  ((covered[role] ?? []).includes(target) || (kinds[act.split(" ")[0] ?? ""] === "stops" && foreign.includes(target)));

/** What an act needs to be there about its user, made by the administrator; answers the code or the id that the act names. */
const given: Readonly<Record<string, (userId: string) => Promise<string>>> = {
  "UserService.VerifyPhone": (userId) => newCode(`/v1/users/${userId}/phone`, { phone: newPhone() }),
  "UserService.ResendPhoneCode": (userId) => newCode(`/v1/users/${userId}/phone`, { phone: newPhone() }),
  "UserService.RemovePhone": (userId) => done(`/v1/users/${userId}/phone`, { phone: newPhone(), isVerified: true }),
  "UserService.VerifyEmail": (userId) => newCode(`/v1/users/${userId}/email`, { email: newEmail() }),
  "UserService.ResendEmailCode": (userId) => newCode(`/v1/users/${userId}/email`, { email: newEmail() }),
  "UserService.InviteUser": withoutPassword,
  "UserService.ReactivateUser": (userId) => done(`/v1/users/${userId}:deactivate`),
  "UserService.RevokeAccessToken": async (userId) =>
    (await postern.admin.post(`/v1/users/${userId}/tokens`)).body.tokenId,
  "MachineCredentialService.RemoveMachineCredential": async (userId) =>
    (await postern.admin.post(`/v1/users/${userId}/secrets`)).body.credentialId,
  "FactorService.RenameFactor": newFactor,
  "FactorService.RemoveFactor": newFactor,
  "ConsentService.DisconnectApplication": newConnection,
  "UserRoleService.EndUserRoles": (userId) => grantedElsewhere(postern, userId),
  "UserRoleService.AllowUserRoles": (userId) => endedElsewhere(postern, userId),
  "SessionService.DeleteSession": newSession,
};

async function newCode(path: string, body: object): Promise<string> {
  return (await postern.admin.post(path, { ...body, returnCode: {} })).body.verificationCode;
}

async function done(path: string, body?: object): Promise<string> {
  const answer = await postern.admin.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return "";
}

type Act = (caller: Client, userId: string, it: string) => Promise<{ status: number; body: unknown }>;

const ofMachine = "UserService.UpdateMachineUser";
const isOfMachine = (act: string) => act === ofMachine || act.startsWith("MachineCredentialService.");

/** Every write about one user, done to somebody else. */
export const acts: Readonly<Record<string, Act>> = {
  "UserService.SetPassword": (caller, userId) =>
    caller.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-77" }),
  "UserService.CreateAccessToken": (caller, userId) => caller.post(`/v1/users/${userId}/tokens`),
  "UserService.ChangePhone": (caller, userId) => caller.post(`/v1/users/${userId}/phone`, { phone: newPhone() }),
  "UserService.ChangePhone with the code returned": (caller, userId) =>
    caller.post(`/v1/users/${userId}/phone`, { phone: newPhone(), returnCode: {} }),
  "UserService.ChangePhone as verified": (caller, userId) =>
    caller.post(`/v1/users/${userId}/phone`, { phone: newPhone(), isVerified: true }),
  "UserService.VerifyPhone": (caller, userId, verificationCode) =>
    caller.post(`/v1/users/${userId}/phone:verify`, { verificationCode }),
  "UserService.ResendPhoneCode": (caller, userId) => caller.post(`/v1/users/${userId}/phone:resend`),
  "UserService.RemovePhone": (caller, userId) => caller.delete(`/v1/users/${userId}/phone`),
  "UserService.ChangeEmail": (caller, userId) => caller.post(`/v1/users/${userId}/email`, { email: newEmail() }),
  "UserService.ChangeEmail with the code returned": (caller, userId) =>
    caller.post(`/v1/users/${userId}/email`, { email: newEmail(), returnCode: {} }),
  "UserService.ChangeEmail as verified": (caller, userId) =>
    caller.post(`/v1/users/${userId}/email`, { email: newEmail(), isVerified: true }),
  "UserService.VerifyEmail": (caller, userId, verificationCode) =>
    caller.post(`/v1/users/${userId}/email:verify`, { verificationCode }),
  "UserService.ResendEmailCode": (caller, userId) => caller.post(`/v1/users/${userId}/email:resend`),
  "UserService.InviteUser": (caller, userId) => caller.post(`/v1/users/${userId}:invite`),
  "UserService.DeactivateUser": (caller, userId) => caller.post(`/v1/users/${userId}:deactivate`),
  "UserService.ReactivateUser": (caller, userId) => caller.post(`/v1/users/${userId}:reactivate`),
  "UserService.UnlockUser": (caller, userId) => caller.post(`/v1/users/${userId}:unlock`),
  "UserService.DeleteUser": (caller, userId) => caller.delete(`/v1/users/${userId}`),
  "UserService.EraseUser": (caller, userId) => caller.post(`/v1/users/${userId}:erase`),
  async "UserService.RestoreUser"(caller, userId) {
    const eraser = await machine(postern);
    await postern.admin.post("/v1/members", { userId: eraser.userId, roles: ["INSTANCE_OWNER"], instance: true });
    await eraser.client.post(`/v1/users/${userId}:erase`);
    return caller.post(`/v1/users/${userId}:restore`);
  },
  "UserService.UpdateHumanUser": (caller, userId) =>
    caller.call("PATCH", `/v1/users/${userId}/human`, { givenName: "Augusta" }),
  [ofMachine]: (caller, userId) => caller.call("PATCH", `/v1/users/${userId}/machine`, { name: "Engine" }),
  "UserService.SetUserMetadata": (caller, userId) =>
    caller.call("PATCH", `/v1/users/${userId}/metadata`, { entries: [{ key: "plan", value: userId }] }),
  "UserService.ChangeUsername": (caller, userId) =>
    caller.put(`/v1/users/${userId}/username`, { username: `${userId}-renamed` }),
  "UserService.RevokeAccessToken": (caller, userId, tokenId) => caller.delete(`/v1/users/${userId}/tokens/${tokenId}`),
  "MachineCredentialService.CreateMachineSecret": (caller, userId) => caller.post(`/v1/users/${userId}/secrets`),
  "MachineCredentialService.AddMachineKey": (caller, userId) =>
    caller.post(`/v1/users/${userId}/keys`, { publicKey: newJwk() }),
  "MachineCredentialService.RemoveMachineCredential": (caller, userId, credentialId) =>
    caller.delete(`/v1/users/${userId}/credentials/${credentialId}`),
  "MachineCredentialService.SetMachineDelegation": (caller, userId) => caller.put(`/v1/users/${userId}/delegation`),
  "FactorService.RenameFactor": (caller, userId, factorId) =>
    caller.put(`/v1/users/${userId}/factors/${factorId}/name`, { name: "Mine" }),
  "FactorService.RemoveFactor": (caller, userId, factorId) => caller.delete(`/v1/users/${userId}/factors/${factorId}`),
  "ConsentService.DisconnectApplication": (caller, userId, appId) =>
    caller.delete(`/v1/users/${userId}/connected-applications/${appId}`),
  "UserRoleService.EndUserRoles": (caller, userId, organizationId) =>
    caller.post(`/v1/users/${userId}/roles:end`, { organizationId }),
  "UserRoleService.AllowUserRoles": (caller, userId, organizationId) =>
    caller.post(`/v1/users/${userId}/roles:allow`, { organizationId }),
  "SessionService.DeleteUserSessions": (caller, userId) => caller.delete(`/v1/users/${userId}/sessions`),
  "SessionService.DeleteSession": (caller, _, sessionId) => caller.delete(`/v1/sessions/${sessionId}`),
};

const password = "Blue-Kettle-42";

/** A user's name to sign in with. */
async function personOf(userId: string) {
  const { username, details } = (await postern.admin.get(`/v1/users/${userId}`)).body.user;
  return { username: username as string, password, organizationId: details.resourceOwner as string };
}

/** Signs a user in. */
async function signedIn(userId: string): Promise<{ sessionId: string; token: string }> {
  const { username: loginName } = await personOf(userId);
  const session = await postern.as().post("/v1/sessions", { loginName, password });
  expect(session.status, JSON.stringify(session.body)).toBe(200);
  return session.body;
}

async function newSession(userId: string): Promise<string> {
  return (await signedIn(userId)).sessionId;
}

/** Connects a user to an application of another organization. */
async function newConnection(userId: string): Promise<string> {
  const person = await personOf(userId);
  const app = await foreignApplication(postern, person.organizationId);
  return (await connect(postern, { app, person, scope: "openid" })).app.appId;
}

/** Enrols a factor for a user. */
async function newFactor(userId: string): Promise<string> {
  return (await enrolTotp(postern.as((await signedIn(userId)).token))).factorId;
}

/** Takes a user's password away, which no operation does: the target of an invitation has none. */
async function withoutPassword(userId: string): Promise<string> {
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`delete from passwords where user_id = ${userId}`;
  return "";
}

/** A number, and an address, of nobody else: messages to one are counted, which calls at the same time would contend for. */
const newPhone = () => `+4179${randomInt(2_000_000, 9_999_999)}`;
const newEmail = () => `ada-${randomBytes(6).toString("hex")}@example.org`;

// Callers who cover nobody but those without a role.
const others = ["nobody", "ORG_VIEWER", "INSTANCE_VIEWER", ...onProjects];

/** What is tried on one user, in this order: a refusal leaves the user as it was, so that all but the last are refused. */
type Trial = { readonly target: string; readonly callers: readonly string[] };

function trialsOf(act: string, targets: readonly string[]): Trial[] {
  return targets.flatMap((target) => {
    const callers = Object.keys(covered).filter((role) => role !== target);
    const refused = callers.filter((role) => !isCovered(act, role, target));
    const allowed = callers.filter((role) => isCovered(act, role, target));
    const [first, ...rest] = allowed.map((role) => [role]);
    const all = [...refused, ...(target === "nobody" ? others : []), ...(first ?? [])];
    return [all, ...rest].map((roles) => ({ target, callers: roles }));
  });
}

/** Tries an act on somebody like each of the targets: whoever covers the target may, and nobody else. */
export async function tryOn(targets: readonly string[], act: string): Promise<void> {
  const trials = trialsOf(act, targets);
  const users = await twinsOf(trials, act);
  const said = await Promise.all(trials.map((trial, index) => tried(act, trial, users[index] as string)));
  const wanted = trials.map(({ target, callers }) =>
    callers.map((role) => ({ role, target, status: isCovered(act, role, target) ? 200 : refusal(act, role) })),
  );
  expect(said.flat()).toMatchObject(wanted.flat());
}

async function tried(act: string, { target, callers }: Trial, userId: string) {
  const it = (await given[act]?.(userId)) ?? "";
  const answers = [];
  for (const role of callers) {
    const answer = await acts[act]?.(of(role), userId, it);
    answers.push({ role, target, status: answer?.status, body: answer?.body });
  }
  return answers;
}

/** Somebody new for each trial, who holds what its target holds. */
async function twinsOf(trials: readonly Trial[], act: string): Promise<string[]> {
  const items = trials.map(() => {
    const username = `twin-${randomBytes(6).toString("hex")}`;
    const human = { username, givenName: "Ada", familyName: "Byron", email: `${username}@example.com`, password };
    return isOfMachine(act) ? { machine: { username, name: "Robot" } } : { human };
  });
  const { body } = await postern.admin.post("/v1/users:batchCreate", { items }, headers);
  const users = (body.outcomes as { created: { userId: string } }[]).map(({ created }) => created.userId);
  await Promise.all(trials.map(({ target }, index) => becomes(users[index] as string, target)));
  return users;
}

/** Gives somebody what the holder of a role holds. */
async function becomes(userId: string, role: string): Promise<void> {
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
  if (role === "nobody") return;
  const [membership, where] = memberships[role] ?? [{ roles: [role] }, headers];
  const added = await postern.admin.post("/v1/members", { userId, ...membership }, where);
  expect(added.status, JSON.stringify(added.body)).toBe(200);
}
