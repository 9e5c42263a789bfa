import { type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { permissionsOf } from "../../src/guards/permissions.ts";
import { machine, signedUp } from "../harness.ts";
import {
  acme,
  acts,
  headers,
  kinds,
  of,
  postern,
  projectGrantId,
  projectId,
  setStage,
  targets,
  tryOn,
} from "./climb.ts";
import { methods, nameOf } from "./methods.ts";

setStage();

/** Writes whose requests name a user and do nothing in the user's place, each with what holds them instead. */
const givesOrTakes = {
  "InvitationService.DeclineReceivedInvitation":
    "it takes nothing that the user has, and says who declines for themselves",
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

/** Two of the targets, which take turns; climb_everyone.test.ts tries each act on all. */
const inTurn = (turn: number) => [targets[turn % targets.length], targets[(turn + 6) % targets.length]] as string[];

const turns = Object.keys(acts).map((act, turn) => [act, turn] as const);

test.each(turns)("who may %s, on two who take turns", (act, turn) => tryOn(inTurn(turn), act));

test("for oneself a token may be made, but no phone verified and no code returned", async () => {
  const { userId, client } = await signedUp(postern, { organizationId: acme });
  expect((await acts["UserService.CreateAccessToken"]?.(client, userId, ""))?.status).toBe(200);
  expect((await acts["UserService.ChangePhone as verified"]?.(client, userId, ""))?.status).toBe(403);
  expect((await acts["UserService.ChangePhone with the code returned"]?.(client, userId, ""))?.status).toBe(403);
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
