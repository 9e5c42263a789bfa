import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { caller_alias } from "../../gen/postern/v1/options_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { reasonOf as reasonOfError } from "../../src/errors.ts";
import { clientOptions, driverUrl } from "../../src/postgres/pool/connect.ts";
import { enrolTotp } from "../fixture/factors.ts";
import { callRest } from "../fixture/rest_call.ts";
import { type Answer, type Client, machine, organization, type Postern, sharedPostern, signedUp } from "../harness.ts";
import { openProbe } from "../probe.ts";
import { rows } from "./matrix_rows.ts";
import { methods, nameOf } from "./methods.ts";
import { ownRows } from "./own_rows.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const reasonOf = ({ body }: Answer) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
const outcomeOf = (answer: Answer) => (answer.status === 200 ? "OK" : reasonOf(answer));
const refused = (answer: Answer) => [answer.status, reasonOf(answer)];
const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};

const withAlias = ({ input }: DescMethod) =>
  input.fields.some((field) => field.name === "user_id" && getOption(field, caller_alias));

// The paths of these have another operation at `me`, or none: one deletes oneself by one's id, or not at all.
const withoutAlias = [
  ...["UserService.SetPassword", "UserService.DeleteUser", "UserService.EraseUser", "UserService.RestoreUser"],
];

test("wherever a request names a user that is there, `me` is the caller, with four exceptions; each has a row", () => {
  // A request for a new user brings its id.
  const isNew = (name: string) => /^UserService\.Create(Human|Machine)User$/.test(name);
  const naming = methods
    .filter(({ input }) => input.field.userId)
    .map(nameOf)
    .filter((name) => !isNew(name));
  expect(methods.filter(withAlias).map(nameOf).sort()).toEqual(
    naming.filter((name) => !withoutAlias.includes(name)).sort(),
  );
  expect(Object.keys(ownRows).sort()).toEqual(methods.filter(withAlias).map(nameOf).sort());
});

test.each(methods.filter(withAlias).map((method) => [nameOf(method), method] as const))(
  "%s by `me` says what it says by one's own id",
  async (name, method) => {
    const { says, request } = ownRows[name] ?? {};
    for (const place of ["me", "id"]) {
      const { userId, client } = await signedUp(postern);
      const id = place === "me" ? "me" : userId;
      expect(outcomeOf(await callRest(client, method, { userId: id, ...request }))).toBe(says);
    }
  },
);

describe("what a sign-in or a reset asks for", () => {
  const names = methods
    .filter((method) => rows[nameOf(method)]?.freshSignIn === true)
    .map((method) => [nameOf(method), method]);
  const callOn = (client: Client, userId: string, method: DescMethod) => {
    // It is well-formed, and changes nothing.
    const overtaken = { policy: {}, expectedSequence: "99" };
    const request = ownRows[nameOf(method)]?.request ?? (method.input.field.policy ? overtaken : {});
    return callRest(client, method, method.input.field.userId ? { userId, ...request } : request);
  };

  test.each(names as [string, DescMethod][])("%s: people change it by a fresh sign-in alone", async (_, method) => {
    const { userId, username, password, client } = await signedUp(postern);
    done(await postern.admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true }));
    const pat = postern.as(done(await postern.admin.post(`/v1/users/${userId}/tokens`)).token);
    const signIn = { loginName: username, password };
    const stale = postern.as(done(await postern.as().post("/v1/sessions", signIn)).token);
    await using probe = openProbe(postern.databaseUrl);
    await probe.sql`update sessions set created = created - interval '11 minutes' where user_id = ${userId}
      and session_id <> (select session_id from sessions where user_id = ${userId} order by session_id limit 1)`;
    const ids = withAlias(method) ? ["me", userId] : [userId];
    for (const other of [pat, stale])
      for (const id of ids) expect(refused(await callOn(other, id, method))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
    expect(outcomeOf(await callOn(client, ids[0] ?? "", method))).not.toBe("SIGN_IN_NOT_FRESH");
  });

  test("with a stolen session no administrator sets its own password; a personal access token may", async () => {
    const { userId, client } = await signedUp(postern);
    done(await postern.admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true }));
    const pat = postern.as(done(await postern.admin.post(`/v1/users/${userId}/tokens`)).token);
    await using probe = openProbe(postern.databaseUrl);
    await probe.sql`update sessions set created = created - interval '11 minutes' where user_id = ${userId}`;
    const set = (by: Client, id: string) => by.put(`/v1/users/${id}/password`, { newPassword: "Green-Teapot-43" });
    expect(refused(await set(client, userId))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
    done(await set(pat, userId));
  });

  test("a factor that came after the sign-in has to be in it", async () => {
    const person = await signedUp(postern);
    const { username: loginName, password } = person;
    const earlier = postern.as(done(await postern.as().post("/v1/sessions", { loginName, password })).token);
    await enrolTotp(person.client);
    const calls = (client: Client) => [
      client.post("/v1/users/me/email", { email: "ada@example.org" }),
      client.post("/v1/users/me/tokens"),
    ];
    for (const call of calls(earlier)) expect(refused(await call)).toEqual([400, "SIGN_IN_NOT_FRESH"]);
    for (const call of calls(person.client)) done(await call);
  });

  test("a machine has no sign-in, and an administrator acts for others by a token", async () => {
    const robot = await machine(postern);
    done(await robot.client.post("/v1/users/me/tokens"));
    expect(refused(await robot.client.post("/v1/users/me/email", { email: "r@example.org" }))).toEqual([
      400,
      "USER_NOT_HUMAN",
    ]);
    const { userId } = await signedUp(postern);
    done(await postern.admin.post(`/v1/users/${userId}/tokens`));
    done(await postern.admin.post(`/v1/users/${userId}/email`, { email: "ada@example.org", isVerified: true }));
  });

  test("a token that was stolen is not the account", async () => {
    const { userId, username, password, client } = await signedUp(postern);
    const thief = postern.as(done(await postern.admin.post(`/v1/users/${userId}/tokens`)).token);
    for (const [path, body] of [
      ["email", { email: "thief@example.net" }],
      ["tokens", {}],
      ["factors:startTotp", {}],
    ] as const)
      expect(refused(await thief.post(`/v1/users/me/${path}`, body))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
    expect(done(await client.get("/v1/users/me")).user.human.email).toBe(`${username}@example.com`);
    // The old password is the proof of one change, and the other is no way in.
    const passwords = { oldPassword: password, newPassword: "Green-Teapot-43" };
    done(await thief.put("/v1/users/me/password", passwords));
    done(await thief.post("/v1/users/me/phone", { phone: "+41446681800" }));
  });
});

test("literal paths come before the alias", async () => {
  const { userId, client } = await signedUp(postern);
  expect(done(await client.get("/v1/users/me"))).toMatchObject({ user: { id: userId }, projectRoles: [] });
  const wrong = { oldPassword: "Wrong-Kettle-42", newPassword: "Green-Teapot-43" };
  expect(refused(await client.put("/v1/users/me/password", wrong))).toEqual([400, "PASSWORD_MISMATCH"]);
  // SetPassword has another body.
  const set = await postern.admin.put("/v1/users/me/password", { newPassword: "Green-Teapot-43" });
  expect(refused(set)).toEqual([400, "VALIDATION_FAILED"]);
  expect(refused(await postern.admin.delete("/v1/users/me"))).toEqual([405, "METHOD_NOT_ALLOWED"]);
});

test("over gRPC `me` is the caller as well, and SetPassword and DeleteUser know no such user", async () => {
  const { userId, client } = await signedUp(postern);
  const callerOf = ({ token }: Client) => ({ headers: { authorization: `Bearer ${token}` } });
  const users = createClient(UserService, createGrpcTransport({ baseUrl: postern.url }));
  expect((await users.getUser({ userId: "me" }, callerOf(client))).user?.id).toBe(userId);
  for (const call of [
    () => users.setPassword({ userId: "me", newPassword: "Green-Teapot-43" }, callerOf(postern.admin)),
    () => users.deleteUser({ userId: "me" }, callerOf(postern.admin)),
  ])
    await expect(call()).rejects.toSatisfy((error) => reasonOfError(error) === "USER_NOT_FOUND");
});

test("an administrator grants itself a role by `me`, also in a batch, and repeats the call with its key", async () => {
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: "Own grants" }));
  for (const key of ["viewer", "editor"]) done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key }));
  const grant = { projectId, roleKeys: ["viewer"] };
  const key = { "idempotency-key": "own-grant" };
  const first = done(await postern.admin.post("/v1/users/me/grants", grant, key));
  expect(done(await postern.admin.post("/v1/users/me/grants", grant, key))).toEqual(first);
  const { userGrants } = done(await postern.admin.get("/v1/users/me/grants"));
  expect(userGrants).toEqual([expect.objectContaining({ id: first.userGrantId, userId: postern.adminId })]);
  const batch = done(await postern.admin.post("/v1/user-grants:batchAdd", { items: [{ userId: "me", ...grant }] }));
  expect(JSON.stringify(batch.outcomes)).toContain("USER_GRANT_EXISTS");
});

test("a user without any role reads its own grants, in every organization, and nobody else's", async () => {
  const [one, other] = [await signedUp(postern), await signedUp(postern)];
  const elsewhere = { "x-service-orgid": await organization(postern) };
  const granted = async (headers: Record<string, string>, name: string) => {
    const { projectId } = done(await postern.admin.post("/v1/projects", { name }, headers));
    done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "reader" }, headers));
    for (const { userId } of [one, other])
      done(await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] }, headers));
    return projectId as string;
  };
  const [here, there] = [await granted({}, "Read here"), await granted(elsewhere, "Read there")];
  for (const [headers, projectId] of [
    [{}, here],
    [elsewhere, there],
  ] as const) {
    for (const path of ["/v1/users/me/grants", `/v1/users/${one.userId}/grants`, "/v1/user-grants?userId=me"]) {
      const { userGrants } = done(await one.client.get(path, headers));
      expect(userGrants).toEqual([expect.objectContaining({ userId: one.userId, projectId, roleKeys: ["reader"] })]);
    }
    for (const path of [
      `/v1/users/${other.userId}/grants`,
      "/v1/user-grants",
      `/v1/user-grants?projectId=${projectId}`,
    ])
      expect(refused(await one.client.get(path, headers))).toEqual([403, "PERMISSION_DENIED"]);
  }
  expect(done(await one.client.get("/v1/users/me")).projectRoles).toHaveLength(2);
});

test("anybody reads the password policy of its own organization, and no other", async () => {
  const organizationId = await organization(postern);
  const within = { "x-service-orgid": organizationId };
  const policy = { minimumLength: 31 };
  const { client } = await signedUp(postern, { organizationId });
  done(await postern.admin.put("/v1/policies/password", { policy }, within));
  for (const headers of [{}, within])
    expect(done(await client.get("/v1/policies/password", headers))).toMatchObject({ policy, isDefault: false });
  const own = { "x-service-orgid": postern.organizationId };
  for (const answer of await Promise.all([
    client.get("/v1/policies/password", own),
    client.get("/v1/policies/password", { "x-service-orgid": "no-such-organization" }),
    client.get("/v1/policies/password?instance=true"),
    client.put("/v1/policies/password", { policy }),
    client.get("/v1/policies/lockout"),
  ]))
    expect(refused(answer)).toEqual([403, "PERMISSION_DENIED"]);
});

test("another's data stays out of reach without a permission", async () => {
  const [one, other] = [await signedUp(postern), await signedUp(postern)];
  expect(refused(await one.client.get(`/v1/users/${other.userId}`))).toEqual([403, "PERMISSION_DENIED"]);
});

test("no user can have the id `me`", async () => {
  const sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, log), max: 1 });
  const made = sql`
    insert into users (owner, user_id, kind, username, version, created, changed)
    values (${postern.organizationId}, 'me', 'machine', 'me', 1, now(), now())`;
  await expect(made).rejects.toMatchObject({ constraint_name: "users_user_id_is_no_alias" });
  await sql.end();
});
