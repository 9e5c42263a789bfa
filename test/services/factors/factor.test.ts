import { afterAll, beforeAll, expect, test } from "vitest";
import { codeOf } from "../../fixture/authenticator.ts";
import { enrolTotp, keyFor, pendingOf, withTotp, wrongCodeOf } from "../../fixture/factors.ts";
import { type Answer, machine, organization, type Postern, signedUp } from "../../harness.ts";
import { openProbe } from "../../probe.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";

let nodes: TwoNodes;
let postern: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://identity.example.com/" });
  postern = nodes.one;
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const reasonOf = ({ body }: Answer) => body.details?.[0]?.reason;
const refused = (answer: Answer) => [answer.status, reasonOf(answer)];
const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};
const complete = (body: object, at = postern) => at.as().post("/v1/sessions:complete", body);

test("a person with an app gets a session only with a code, and the session says how it was made", async () => {
  const person = await withTotp(postern);
  const first = done(
    await postern.as().post("/v1/sessions", { loginName: person.username, password: person.password }),
  );
  expect(first).toMatchObject({ pending: { factors: ["FACTOR_KIND_TOTP"], token: expect.any(String) } });
  expect([first.token, first.sessionId, first.details]).toEqual(["", "", undefined]);
  const session = done(await complete({ pendingToken: first.pending.token, totpCode: person.code(0) }));
  const { sessions } = done(await postern.as(session.token).get("/v1/sessions"));
  const ours = sessions.find(({ id }: { id: string }) => id === session.sessionId);
  expect(ours).toMatchObject({ amr: ["pwd", "otp", "mfa"], acr: "urn:postern:acr:multi-factor", enrolmentOnly: false });
  expect(ours.authTime).toBe(ours.details.creationDate);
});

test("a person without a factor sees what it saw before", async () => {
  const { username, password } = await signedUp(postern);
  const answer = done(await postern.as().post("/v1/sessions", { loginName: username, password }));
  expect(answer).toMatchObject({ token: expect.stringMatching(/^ps_/), sessionId: expect.any(String) });
  expect(answer.pending).toBeUndefined();
  const { sessions } = done(await postern.as(answer.token).get("/v1/sessions"));
  expect(sessions[0]).toMatchObject({ amr: ["pwd"], acr: "urn:postern:acr:single-factor" });
});

test("the secret is shown as a QR code, and counts only once a code confirms it", async () => {
  const { client, username, password } = await signedUp(postern);
  const { secret, uri } = done(await client.post("/v1/users/me/factors:startTotp"));
  const label = `identity.example.com:${username}`;
  expect(uri).toBe(
    `otpauth://totp/${label.replace(/[^:]+/g, encodeURIComponent)}?secret=${secret}&issuer=identity.example.com`,
  );
  const wrong = await client.post("/v1/users/me/factors:confirmTotp", { code: wrongCodeOf(secret) });
  expect(refused(wrong)).toEqual([400, "CODE_INVALID"]);
  expect(done(await postern.as().post("/v1/sessions", { loginName: username, password })).token).not.toBe("");
  const code = codeOf(secret).replace(/^.../, "$& ");
  const { factorId } = done(await client.post("/v1/users/me/factors:confirmTotp", { code, name: " Phone " }));
  const { factors } = done(await client.get("/v1/users/me/factors"));
  expect(factors).toMatchObject([{ id: factorId, kind: "FACTOR_KIND_TOTP", name: "Phone", codesLeft: 0 }]);
  expect(refused(await client.post("/v1/users/me/factors:startTotp"))).toEqual([409, "FACTOR_EXISTS"]);
});

test("the code that confirmed an enrolment signs nobody in", async () => {
  const person = await signedUp(postern);
  const { secret } = done(await person.client.post("/v1/users/me/factors:startTotp"));
  const code = codeOf(secret);
  done(await person.client.post("/v1/users/me/factors:confirmTotp", { code }));
  const { token } = await pendingOf(postern, person);
  expect(refused(await complete({ pendingToken: token, totpCode: code }))).toEqual([400, "CODE_INVALID"]);
  done(await complete({ pendingToken: token, totpCode: codeOf(secret, 1) }));
});

test("of ten sign-ins at once with one code, through two nodes, one ends well", async () => {
  const person = await withTotp(postern);
  const pending = await Promise.all(Array.from({ length: 10 }, () => pendingOf(postern, person)));
  const code = person.code();
  const answers = await Promise.all(
    pending.map(({ token }, nth) => complete({ pendingToken: token, totpCode: code }, nodes.through(nth))),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const reasons = new Set(answers.filter(({ status }) => status !== 200).map(reasonOf));
  for (const reason of reasons) expect(["CODE_INVALID", "FACTOR_ATTEMPTS"]).toContain(reason);
});

test("of ten ends of one sign-in at once, one is a session", async () => {
  const person = await withTotp(postern);
  const { token } = await pendingOf(postern, person);
  const code = person.code();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, nth) => complete({ pendingToken: token, totpCode: code }, nodes.through(nth))),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(refused(await complete({ pendingToken: token, totpCode: person.code(2) }))).toEqual([
    400,
    "CHALLENGE_INVALID",
  ]);
});

test("two answers to one sign-in at once, each right, make one session", async () => {
  for (let round = 0; round < 3; round += 1) {
    const person = await withTotp(postern);
    const { codes } = done(await person.client.post("/v1/users/me/factors:generateRecoveryCodes"));
    const { token: pendingToken } = await pendingOf(postern, person);
    const answers = await Promise.all([
      complete({ pendingToken, totpCode: person.code() }, nodes.one),
      complete({ pendingToken, recoveryCode: codes[0] }, nodes.two),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  }
});

test("after five wrong codes a person waits, on every node, and a right password changes nothing of it", async () => {
  const person = await withTotp(postern);
  const { token } = await pendingOf(postern, person);
  const tries = await Promise.all(
    Array.from({ length: 12 }, (_, nth) =>
      complete({ pendingToken: token, totpCode: wrongCodeOf(person.secret) }, nodes.through(nth)),
    ),
  );
  expect(tries.filter((one) => reasonOf(one) === "CODE_INVALID")).toHaveLength(5);
  expect(tries.filter((one) => reasonOf(one) === "FACTOR_ATTEMPTS")).toHaveLength(7);
  const again = await pendingOf(nodes.two, person);
  const right = await complete({ pendingToken: again.token, totpCode: person.code() }, nodes.two);
  expect(refused(right)).toEqual([429, "FACTOR_ATTEMPTS"]);
  expect(right.body.details.some((one: object) => "retryDelay" in one)).toBe(true);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update factor_attempts set blocked_until = now() where user_id = ${person.userId}`;
  done(await complete({ pendingToken: again.token, totpCode: person.code() }));
  expect(await probe.sql`select * from factor_attempts where user_id = ${person.userId}`).toEqual([]);
});

test("a recovery code works once, in whatever form, and new ones take the place of all", async () => {
  const person = await withTotp(postern);
  const { codes, factorId } = done(await person.client.post("/v1/users/me/factors:generateRecoveryCodes"));
  expect(new Set(codes).size).toBe(10);
  const [first = "", second = "", third = ""] = codes as string[];
  const by = async (recoveryCode: string) =>
    complete({ pendingToken: (await pendingOf(postern, person)).token, recoveryCode });
  const session = done(await by(first.toLowerCase().replace("-", " ")));
  expect(refused(await by(first))).toEqual([400, "CODE_INVALID"]);
  const listed = done(await postern.as(session.token).get("/v1/users/me/factors")).factors;
  expect(listed[1]).toMatchObject({ id: factorId, kind: "FACTOR_KIND_RECOVERY_CODES", codesLeft: 9 });
  expect(listed[1].lastUsedDate).toEqual(expect.any(String));
  const again = done(await postern.as(session.token).post("/v1/users/me/factors:generateRecoveryCodes"));
  expect(again.factorId).toBe(factorId);
  expect(refused(await by(second))).toEqual([400, "CODE_INVALID"]);
  expect(refused(await by(third))).toEqual([400, "CODE_INVALID"]);
  done(await by(again.codes[0]));
});

test("of ten uses of one recovery code at once, one ends well", async () => {
  const person = await withTotp(postern);
  const { codes } = done(await person.client.post("/v1/users/me/factors:generateRecoveryCodes"));
  const pending = await Promise.all(Array.from({ length: 10 }, () => pendingOf(postern, person)));
  const answers = await Promise.all(
    pending.map(({ token }, nth) => complete({ pendingToken: token, recoveryCode: codes[0] }, nodes.through(nth))),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test("recovery codes need another factor, and go with the last one", async () => {
  const { client } = await signedUp(postern);
  expect(refused(await client.post("/v1/users/me/factors:generateRecoveryCodes"))).toEqual([400, "FACTOR_MISSING"]);
  const { factorId } = await enrolTotp(client);
  done(await client.post("/v1/users/me/factors:generateRecoveryCodes"));
  done(await client.delete(`/v1/users/me/factors/${factorId}`));
  expect(done(await client.get("/v1/users/me/factors")).factors).toEqual([]);
  await using probe = openProbe(postern.databaseUrl);
  expect(await probe.sql`select * from factor_secrets where factor_id = ${factorId}`).toEqual([]);
});

test("what changes factors needs a fresh sign-in, and a personal access token is none", async () => {
  const person = await withTotp(postern);
  const { token } = done(await postern.admin.post(`/v1/users/${person.userId}/tokens`));
  const paths = ["startPasskey", "generateRecoveryCodes"].map((name) => `/v1/users/me/factors:${name}`);
  for (const path of paths) expect(refused(await postern.as(token).post(path))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
  const own = `/v1/users/me/factors/${person.factorId}`;
  expect(refused(await postern.as(token).delete(own))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update sessions set created = created - interval '11 minutes' where user_id = ${person.userId}`;
  for (const path of paths) expect(refused(await person.client.post(path))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
  expect(refused(await person.client.delete(own))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
  done(await person.client.get("/v1/users/me/factors"));
});

test("a session that began by the password alone, before the factor came, changes no factor", async () => {
  const person = await signedUp(postern);
  const { username: loginName, password } = person;
  const { token } = done(await postern.as().post("/v1/sessions", { loginName, password }));
  const thief = postern.as(token);
  const key = keyFor(postern);
  const { options } = done(await thief.post("/v1/users/me/factors:startPasskey"));
  const { factorId } = await enrolTotp(person.client);
  const body = { credential: key.create(options), name: "Key" };
  const attempts = [
    thief.delete(`/v1/users/me/factors/${factorId}`),
    thief.post("/v1/users/me/factors:generateRecoveryCodes"),
    thief.post("/v1/users/me/factors:startPasskey"),
    thief.post("/v1/users/me/factors:confirmPasskey", body),
  ];
  for (const attempt of attempts) expect(refused(await attempt)).toEqual([400, "SIGN_IN_NOT_FRESH"]);
  const { sessions } = done(await person.client.get("/v1/sessions"));
  expect(sessions.map(({ amr }: { amr: string[] }) => amr)).toEqual([["pwd"], ["pwd", "otp", "mfa"]]);
  done(await person.client.post("/v1/users/me/factors:generateRecoveryCodes"));
  done(await person.client.delete(`/v1/users/me/factors/${factorId}`));
});

test("a new password by mail replaces no factor, and one beside the sign-in counts only after the factor", async () => {
  const person = await withTotp(postern);
  const newPassword = "Green-Teapot-77";
  const first = done(
    await postern.as().post("/v1/sessions", { loginName: person.username, password: person.password, newPassword }),
  );
  const stillOld = await pendingOf(postern, person);
  expect(stillOld.factors).toEqual(["FACTOR_KIND_TOTP"]);
  const session = done(await complete({ pendingToken: first.pending.token, totpCode: person.code(0) }));
  expect(done(await postern.as(session.token).get("/v1/users/me")).user.id).toBe(person.userId);
  expect(refused(await complete({ pendingToken: stillOld.token, totpCode: person.code() }))).toEqual([
    400,
    "CHALLENGE_INVALID",
  ]);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update passwords set hash = hash where user_id = ${person.userId}`;
  const set = await postern.admin.put(`/v1/users/${person.userId}/password`, { newPassword: "Red-Saucer-11" });
  done(set);
  const pending = await pendingOf(postern, { username: person.username, password: "Red-Saucer-11" });
  expect(pending.factors).toEqual(["FACTOR_KIND_TOTP"]);
});

test("a lock and a deactivation end a sign-in that waits", async () => {
  for (const end of ["lock", "deactivate"]) {
    const person = await withTotp(postern);
    const { token } = await pendingOf(postern, person);
    if (end === "deactivate") done(await postern.admin.post(`/v1/users/${person.userId}:deactivate`));
    else {
      await using probe = openProbe(postern.databaseUrl);
      await probe.sql`update users set locked = true where user_id = ${person.userId}`;
    }
    const answer = await complete({ pendingToken: token, totpCode: person.code() });
    expect(refused(answer)).toEqual([400, "CHALLENGE_INVALID"]);
  }
});

test("a machine enrols nothing, and nobody does where the policy is off; what is there is asked for all the same", async () => {
  const { client } = await machine(postern);
  expect(refused(await client.post("/v1/users/me/factors:startTotp"))).toEqual([400, "USER_NOT_HUMAN"]);
  const organizationId = await organization(postern);
  const header = { "x-service-orgid": organizationId };
  const person = await withTotp(postern, { organizationId });
  const policy = { requirement: "FACTOR_REQUIREMENT_OFF" };
  done(await postern.admin.put("/v1/policies/factor", { policy }, header));
  expect(refused(await person.client.post("/v1/users/me/factors:startPasskey"))).toEqual([400, "FACTORS_OFF"]);
  expect((await pendingOf(postern, person)).factors).toEqual(["FACTOR_KIND_TOTP"]);
  done(await person.client.delete(`/v1/users/me/factors/${person.factorId}`));
});

test("where a factor is required, a person without one may only enrol it, and then do everything", async () => {
  const organizationId = await organization(postern);
  const header = { "x-service-orgid": organizationId };
  const { username, password, userId } = await signedUp(postern, { organizationId });
  const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
  done(await postern.admin.put("/v1/policies/factor", { policy }, header));
  const signIn = () => postern.as().post("/v1/sessions", { loginName: username, password });
  const session = done(await signIn());
  expect(session.enrolmentOnly).toBe(true);
  const client = postern.as(session.token);
  for (const at of [nodes.one, nodes.two]) {
    const narrow = at.as(session.token);
    expect(refused(await narrow.get("/v1/users/me"))).toEqual([403, "FACTOR_ENROLMENT_REQUIRED"]);
    expect(refused(await narrow.put("/v1/users/me/password", {}))).not.toEqual([200, undefined]);
    expect(refused(await narrow.get(`/v1/users/${userId}`))).toEqual([403, "FACTOR_ENROLMENT_REQUIRED"]);
  }
  expect(done(await client.get("/v1/users/me/factors")).factors).toEqual([]);
  const { secret } = await enrolTotp(client);
  done(await client.get("/v1/users/me"));
  const { sessions } = done(await client.get("/v1/sessions"));
  expect(sessions[0]).toMatchObject({ amr: ["pwd", "otp", "mfa"], enrolmentOnly: false });
  const { token } = await pendingOf(postern, { username, password });
  done(await complete({ pendingToken: token, totpCode: codeOf(secret, 1) }));
});

test("a session that may only enrol a factor has no rights over others, whatever roles its user holds", async () => {
  const organizationId = await organization(postern);
  const header = { "x-service-orgid": organizationId };
  const [owner, other] = [await signedUp(postern, { organizationId }), await withTotp(postern, { organizationId })];
  done(await postern.admin.post("/v1/members", { userId: owner.userId, roles: ["ORG_OWNER"] }, header));
  expect(done(await owner.client.get(`/v1/users/${other.userId}/factors`)).factors).toHaveLength(1);
  const [{ id }] = done(await other.client.get("/v1/sessions")).sessions;
  const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
  done(await postern.admin.put("/v1/policies/factor", { policy }, header));
  const { username: loginName, password } = owner;
  const client = postern.as(done(await postern.as().post("/v1/sessions", { loginName, password })).token);
  expect(refused(await client.get(`/v1/users/${other.userId}/factors`))).toEqual([403, "PERMISSION_DENIED"]);
  expect((await client.delete(`/v1/sessions/${id}`)).status).toBe(403);
  await enrolTotp(client);
  expect(done(await client.get(`/v1/users/${other.userId}/factors`)).factors).toHaveLength(1);
});

test("where administrators need a factor, only those who hold a role do", async () => {
  const organizationId = await organization(postern);
  const header = { "x-service-orgid": organizationId };
  const [owner, other] = [await signedUp(postern, { organizationId }), await signedUp(postern, { organizationId })];
  done(await postern.admin.post("/v1/members", { userId: owner.userId, roles: ["ORG_OWNER"] }, header));
  const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS" };
  done(await postern.admin.put("/v1/policies/factor", { policy }, header));
  const isNarrow = async ({ username, password }: { username: string; password: string }) =>
    done(await postern.as().post("/v1/sessions", { loginName: username, password })).enrolmentOnly;
  expect([await isNarrow(owner), await isNarrow(other)]).toEqual([true, false]);
});

test("a policy is the organization's own or the instance's, and a user may read it", async () => {
  const organizationId = await organization(postern);
  const header = { "x-service-orgid": organizationId };
  const { client } = await signedUp(postern, { organizationId });
  const read = async () => done(await client.get("/v1/policies/factor"));
  expect(await read()).toMatchObject({ policy: { requirement: "FACTOR_REQUIREMENT_OPTIONAL" }, isDefault: true });
  const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
  done(await postern.admin.put("/v1/policies/factor", { policy }, header));
  expect(await read()).toMatchObject({ policy, isDefault: false, details: { sequence: "1" } });
  done(await postern.admin.delete("/v1/policies/factor", header));
  expect(await read()).toMatchObject({ isDefault: true });
  done(await postern.admin.put("/v1/policies/factor", { policy }, header));
  expect(await read()).toMatchObject({ policy, details: { sequence: "3" } });
  const wrong = await postern.admin.put("/v1/policies/factor", { policy: {} }, header);
  expect(refused(wrong)).toEqual([400, "VALIDATION_FAILED"]);
});

test("an administrator removes a factor of somebody else, and the log says so", async () => {
  const person = await withTotp(postern);
  done(await postern.admin.delete(`/v1/users/${person.userId}/factors/${person.factorId}`));
  const again = await postern.admin.delete(`/v1/users/${person.userId}/factors/${person.factorId}`);
  expect(refused(again)).toEqual([404, "FACTOR_NOT_FOUND"]);
  const { username, password } = person;
  expect(done(await postern.as().post("/v1/sessions", { loginName: username, password })).pending).toBeUndefined();
  const { events } = done(await postern.admin.get(`/v1/events?objectId=${person.factorId}`));
  expect(events[0]).toMatchObject({
    type: "factor.removed",
    fact: { factor: { removed: { userId: person.userId, byAdministrator: true } } },
  });
  expect(JSON.stringify(events)).not.toContain(person.secret);
});

test("a factor has the name that its user gives it", async () => {
  const person = await withTotp(postern);
  const path = `/v1/users/me/factors/${person.factorId}/name`;
  done(await person.client.put(path, { name: "New phone" }));
  done(await person.client.put(path, { name: "New phone" }));
  const [factor] = done(await person.client.get("/v1/users/me/factors")).factors;
  expect(factor).toMatchObject({ name: "New phone", details: { sequence: "3" } });
  const other = await signedUp(postern);
  expect(refused(await other.client.put(path, { name: "Mine" }))).toEqual([404, "FACTOR_NOT_FOUND"]);
});

test("nothing of a factor is left of a user who was deleted", async () => {
  const person = await withTotp(postern);
  done(await person.client.post("/v1/users/me/factors:generateRecoveryCodes"));
  await pendingOf(postern, person);
  done(await postern.admin.delete(`/v1/users/${person.userId}`));
  await using probe = openProbe(postern.databaseUrl);
  for (const table of ["factors", "factor_secrets", "recovery_codes", "passkeys", "pending_sessions"])
    expect(await probe.sql.unsafe(`select * from ${table} where user_id = '${person.userId}'`), table).toEqual([]);
});

test("whoever knows a password keeps ten sign-ins waiting at most, the newest", async () => {
  const person = await withTotp(postern);
  const all = [];
  for (let nth = 0; nth < 12; nth += 1) all.push((await pendingOf(postern, person)).token);
  await using probe = openProbe(postern.databaseUrl);
  expect(await probe.sql`select * from pending_sessions where user_id = ${person.userId}`).toHaveLength(10);
  const code = person.code();
  expect(refused(await complete({ pendingToken: all[0], totpCode: code }))).toEqual([400, "CHALLENGE_INVALID"]);
  done(await complete({ pendingToken: all[11], totpCode: code }));
});
