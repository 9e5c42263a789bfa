import { randomUUID } from "node:crypto";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file_postern_v1_account } from "../../gen/postern/v1/account_pb.ts";
import { file_postern_v1_application } from "../../gen/postern/v1/application_pb.ts";
import { file_postern_v1_event } from "../../gen/postern/v1/event_pb.ts";
import { file_postern_v1_member } from "../../gen/postern/v1/member_pb.ts";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { file_postern_v1_organization } from "../../gen/postern/v1/organization_pb.ts";
import { file_postern_v1_policy } from "../../gen/postern/v1/policy_pb.ts";
import { file_postern_v1_project } from "../../gen/postern/v1/project_pb.ts";
import { file_postern_v1_session } from "../../gen/postern/v1/session_pb.ts";
import { file_postern_v1_user_grant } from "../../gen/postern/v1/user_grant_pb.ts";
import { file_postern_v1_user } from "../../gen/postern/v1/user_pb.ts";
import { type Client, type Postern, signedUp, startPostern } from "../harness.ts";
import { openProbe, type Probe } from "../probe.ts";
import { type Fixture, fixtureOf } from "./matrix_fixture.ts";
import { type Row, rows } from "./matrix_rows.ts";
import { callRest } from "./rest_call.ts";

const files = [
  ...[file_postern_v1_account, file_postern_v1_application, file_postern_v1_event, file_postern_v1_member],
  ...[file_postern_v1_organization, file_postern_v1_policy, file_postern_v1_project, file_postern_v1_session],
  ...[file_postern_v1_user, file_postern_v1_user_grant],
];
const writes: readonly DescMethod[] = files
  .flatMap(({ services }) => services.flatMap((service) => service.methods as DescMethod[]))
  .filter(({ idempotency }) => idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS)
  .filter((method) => getOption(method, access).who.case !== "anyone");
const nameOf = (method: DescMethod) => `${method.parent.name}.${method.name}`;

/** How many events a write of its row appends: one, unless it changes nothing. */
const events: Readonly<Record<string, number>> = {
  "UserService.ReactivateUser": 0,
  "UserService.UnlockUser": 0,
  "MemberService.ChangeMember": 0,
};

type Request = Readonly<Record<string, unknown>>;

let postern: Postern;
let target: Fixture;
let probe: Probe;

beforeAll(async () => {
  postern = await startPostern();
  target = await fixtureOf(postern, postern.organizationId);
  probe = openProbe(postern.databaseUrl);
}, 60_000);
afterAll(async () => {
  await probe[Symbol.asyncDispose]();
  await postern[Symbol.asyncDispose]();
});

const keyed = () => ({ "idempotency-key": randomUUID() });

/** A caller, and a request of its that is granted. */
async function granted(name: string): Promise<{ client: Client; request: Request }> {
  if (name === "AccountService.ChangePassword") {
    const { client, password } = await signedUp(postern);
    return { client, request: { oldPassword: password, newPassword: "Green-Teapot-77" } };
  }
  const limit = ++asked + 10;
  if (name === "PolicyService.SetPasswordPolicy") return asAdmin({ policy: { minimumLength: 1 + (limit % 14) } });
  if (name === "PolicyService.SetLockoutPolicy") return asAdmin({ policy: { maximumAttempts: limit } });
  return asAdmin(await (rows[name] as Row).request(target));
}

let asked = 0;
const asAdmin = (request: Request) => ({ client: postern.admin, request });

/** What to change in a request where another name would not do. */
const others: Readonly<Record<string, Request>> = {
  "AccountService.ChangePassword": { newPassword: "Brown-Saucer-88" },
  "UserService.ChangePhone": { phone: "+41446681801" },
  "UserService.ResendPhoneCode": { returnCode: undefined },
  "UserService.CreateAccessToken": { expirationDate: "2999-01-01T00:00:00Z" },
  "ApplicationService.RotateClientSecret": { overlap: "60s" },
  "UserGrantService.AddUserGrant": { roleKeys: [] },
  "UserGrantService.AddUserGrants": { allOrNothing: true },
  "UserGrantService.ChangeUserGrant": { roleKeys: ["viewer"] },
  "PolicyService.SetPasswordPolicy": { policy: { minimumLength: 20 } },
  "PolicyService.SetLockoutPolicy": { policy: { maximumAttempts: 9 } },
  "MemberService.AddMember": { roles: ["PROJECT_OWNER"], projectId: "", projectGrantId: "another" },
};

/** The same request about something else where an rpc has nothing but a name. */
function different(name: string, request: Request): Request {
  const known = others[name];
  if (known) return { ...request, ...known };
  const field = ["name", "key", "username", "newPassword", "sessionId", "tokenId", "roleKey", "projectGrantId"].find(
    (one) => one in request,
  );
  const only = field ?? ["appId", "userGrantId", "userId", "projectId"].find((one) => one in request) ?? "";
  return { ...request, [only]: `${request[only]}x` };
}

async function eventCount(): Promise<number> {
  const [row] = await probe.sql`select count(*)::int as n from events`;
  return row?.n;
}

describe.each(writes.map((method) => ({ method, name: nameOf(method) })))("$name", ({ method, name }) => {
  test("the same key and body answer the same and have one effect; another body is refused", async () => {
    const { client, request } = await granted(name);
    const before = await eventCount();
    const key = keyed();
    const first = await callRest(client, method, request, key);
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const again = await callRest(client, method, request, key);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await eventCount()) - before).toBe(events[name] ?? 1);
    const other = await callRest(client, method, different(name, request), key);
    expect([other.status, other.body.details[0].reason]).toEqual([400, "IDEMPOTENCY_KEY_REUSED"]);
    expect((await eventCount()) - before).toBe(events[name] ?? 1);
  });

  test("ten at once run once", async () => {
    const { client, request } = await granted(name);
    const before = await eventCount();
    const key = keyed();
    const answers = await Promise.all(Array.from({ length: 10 }, () => callRest(client, method, request, key)));
    expect(answers[0]?.status, JSON.stringify(answers[0]?.body)).toBe(200);
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]?.body]);
    expect((await eventCount()) - before).toBe(events[name] ?? 1);
  });
});
