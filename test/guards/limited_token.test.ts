import { getOption } from "@bufbuild/protobuf";
import { field } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreateAccessTokenRequestSchema } from "../../gen/postern/v1/user_pb.ts";
import { permissions } from "../../src/guards/permissions.ts";
import { type Fixture, fixtureOf } from "../fixture/organization.ts";
import { callRest } from "../fixture/rest_call.ts";
import { type Answer, type Client, machine, organization, type Postern, sharedPostern, signedUp } from "../harness.ts";
import { basic, issuerOf, post } from "../provider/application.ts";
import { type Row, rows } from "./matrix_rows.ts";
import { methods, nameOf } from "./methods.ts";
import { ownRows } from "./own_rows.ts";

let postern: Postern;
let fixture: Fixture;
let ownerId: string;
let credentials: { readonly clientId: string; readonly clientSecret: string };
beforeAll(async () => {
  postern = await sharedPostern();
  fixture = await fixtureOf(postern, await organization(postern));
  ownerId = (await machine(postern, fixture)).userId;
  const member = { userId: ownerId, roles: ["INSTANCE_OWNER"], instance: true };
  done(await postern.admin.post("/v1/members", member));
  credentials = done(await postern.admin.post(`/v1/users/${ownerId}/secrets`));
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const resultOf = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const here = () => ({ "x-service-orgid": fixture.organizationId });

/** A client whose token is limited to these permissions. */
async function limited(userId: string, only: readonly string[]): Promise<Client> {
  return postern.as(done(await postern.admin.post(`/v1/users/${userId}/tokens`, { permissions: only })).token);
}

/** The same with a token of the owner's client credentials, which names the permissions in its scope. */
async function byCredentials(only: readonly string[]): Promise<Client> {
  const form = { grant_type: "client_credentials", resource: issuerOf(postern), scope: only.join(" ") };
  return postern.as(done(await post(postern.url, "/oauth/token", form, basic(credentials))).access_token);
}

test("a token can be limited to every permission there is, and to no other", () => {
  const rule = getOption(CreateAccessTokenRequestSchema.field.permissions, field).type;
  const items = rule.case === "repeated" ? rule.value.items?.type : undefined;
  expect(items?.case === "string" && items.value.in).toEqual(permissions);
});

const unary = methods
  .filter(({ methodKind }) => methodKind === "unary")
  .map((method) => [nameOf(method), method] as const);
const guarded = unary.filter(([name]) => !["anyone", "caller"].includes((rows[name] as Row).needs));

const untouched = new Map<string, Promise<object>>();

/** The request of a row for calls that are refused, which leave what it names as it is. */
function requestOf(name: string, { request }: Row): Promise<object> {
  const made = untouched.get(name) ?? Promise.resolve(request(fixture));
  untouched.set(name, made);
  return made;
}

describe.each([
  ["the token", (only: readonly string[]) => limited(ownerId, only)],
  ["a token by client credentials", byCredentials],
])("%s of an owner of the instance", (_, ofOwner) => {
  test.each(guarded)("without the permission cannot %s", async (name, method) => {
    const row = rows[name] as Row;
    const { needs, instead = [] } = row;
    const others = permissions.filter((one) => one !== needs && !instead.includes(one));
    const answer = await callRest(await ofOwner(others), method, { ...(await requestOf(name, row)) }, here());
    expect([answer.status, answer.body.details?.[0]]).toMatchObject([
      403,
      { reason: "PERMISSION_DENIED", metadata: { permission: needs } },
    ]);
  });

  test.each(guarded.filter(([name]) => !/Member$/.test(name)))("with nothing else can %s", async (name, method) => {
    const { needs, request } = rows[name] as Row;
    const answer = await callRest(await ofOwner([needs]), method, { ...(await request(fixture)) }, here());
    expect(resultOf(answer)).toEqual([200, undefined]);
  });
});

describe("the token of an owner of the instance", () => {
  test("gives a role only if every permission of the role is in its list", async () => {
    const roles = ["ORG_VIEWER"];
    const member = async () => ({ userId: await fixture.newUser(), roles });
    const few = await limited(ownerId, ["member.write"]);
    expect(resultOf(await few.post("/v1/members", await member(), here()))).toEqual([403, "PERMISSION_DENIED"]);
    const reading = permissions.filter((one) => one.endsWith(".read") || one === "authorization.evaluate");
    const enough = await limited(ownerId, ["member.write", ...reading]);
    done(await enough.post("/v1/members", await member(), here()));
  });

  test("does nothing in the place of somebody whose permissions are not in its list", async () => {
    const { userId } = await machine(postern, fixture);
    done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, here()));
    const client = await limited(ownerId, ["user.write"]);
    expect(resultOf(await client.post(`/v1/users/${userId}/tokens`))).toEqual([403, "PERMISSION_DENIED"]);
  });

  test("makes no other token of its own user, limited or not", async () => {
    const client = await limited(ownerId, ["user.write", "user.read"]);
    for (const body of [{}, { permissions: ["user.read"] }])
      for (const id of ["me", ownerId])
        expect(resultOf(await client.post(`/v1/users/${id}/tokens`, body))).toEqual([403, "PERMISSION_DENIED"]);
  });
});

test("a limited token of a plain user reads who it is, and nothing else of its own", async () => {
  const { userId, password } = await signedUp(postern, fixture);
  const client = await limited(userId, permissions);
  expect(done(await client.get("/v1/users/me")).user.id).toBe(userId);
  for (const [name, method] of unary) {
    const own = ownRows[name];
    if (!own) continue;
    const answer = await callRest(client, method, { userId, ...own.request });
    expect([name, ...resultOf(answer)]).toEqual([name, 403, "PERMISSION_DENIED"]);
  }
  const passwords = { oldPassword: password, newPassword: "Green-Teapot-77" };
  expect(resultOf(await client.put("/v1/users/me/password", passwords))).toEqual([403, "PERMISSION_DENIED"]);
  expect(resultOf(await client.get("/v1/policies/password"))).toEqual([403, "PERMISSION_DENIED"]);
});

test("a token is never wider than its user: a permission in its list that the user does not hold gives nothing", async () => {
  const { userId } = await machine(postern, fixture);
  const client = await limited(userId, ["user.read", "project.read"]);
  expect(resultOf(await client.get("/v1/users"))).toEqual([403, "PERMISSION_DENIED"]);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, here()));
  done(await client.get("/v1/users"));
  expect(resultOf(await client.get("/v1/members"))).toEqual([403, "PERMISSION_DENIED"]);
  done(await postern.admin.delete(`/v1/members/${userId}`, here()));
  expect(resultOf(await client.get("/v1/users"))).toEqual([403, "PERMISSION_DENIED"]);
});
