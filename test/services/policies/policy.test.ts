import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import {
  type Answer,
  machine,
  organization,
  type Postern,
  sharedPostern,
  signedUp,
  startPostern,
} from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const strict = {
  ...{ minimumLength: 12, requiresUpper: true, requiresLower: true, requiresDigit: true, requiresSymbol: true },
  historyDepth: 3,
  changeAtNextSignIn: true,
  maximumAgeDays: 90,
  resetRequiresVerifiedEmail: true,
};
const lax = {
  ...{ minimumLength: 4, requiresUpper: false, requiresLower: false, requiresDigit: false, requiresSymbol: false },
  historyDepth: 0,
  changeAtNextSignIn: false,
  maximumAgeDays: 0,
  resetRequiresVerifiedEmail: false,
};
const builtIn = {
  ...strict,
  minimumLength: 8,
  historyDepth: 0,
  changeAtNextSignIn: false,
  maximumAgeDays: 0,
  resetRequiresVerifiedEmail: false,
};

const within = (organizationId: string) => ({ "x-service-orgid": organizationId });
const reasonOf = ({ body }: Answer) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
const violationsOf = ({ body }: Answer) =>
  body.details
    .find((one: { "@type": string }) => one["@type"].endsWith(".BadRequest"))
    .fieldViolations.map(({ reason }: { reason: string }) => reason);
const refused = (answer: Answer) => [answer.status, reasonOf(answer)];
const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};

test("the built-in default is in force until something is set, then the instance's, then the organization's own", async () => {
  await using own = await startPostern();
  const read = async (query = "") => done(await own.admin.get(`/v1/policies/password${query}`));
  expect(await read()).toEqual({ policy: builtIn, isDefault: true });
  expect(await read("?instance=true")).toEqual({ policy: builtIn, isDefault: true });

  const set = done(await own.admin.put("/v1/policies/password", { instance: true, policy: strict }));
  expect(set.details).toMatchObject({ sequence: "1" });
  expect(set.details.resourceOwner).not.toBe(own.organizationId);
  expect(await read()).toEqual({ policy: strict, isDefault: true, details: set.details });

  const { details } = done(await own.admin.put("/v1/policies/password", { policy: lax }));
  expect(details).toMatchObject({ sequence: "1", resourceOwner: own.organizationId });
  expect(await read()).toEqual({ policy: lax, isDefault: false, details });
  expect(await read("?instance=true")).toEqual({ policy: strict, isDefault: true, details: set.details });
});

test("a policy and a branding are replaced only at the sequence that the request expects, and 0 stands for none", async () => {
  const other = within(await organization(postern));
  const wholes: readonly (readonly [path: string, ...bodies: readonly [object, object]])[] = [
    ["/v1/policies/password", { policy: lax }, { policy: strict }],
    ["/v1/policies/lockout", { policy: { maximumAttempts: 5 } }, { policy: { maximumAttempts: 7 } }],
    ["/v1/policies/factor", { policy: { requirement: "FACTOR_REQUIREMENT_OFF" } }, { policy: { requirement: 2 } }],
    ["/v1/branding", { branding: { accentColor: "#112233" } }, { branding: { accentColor: "#445566" } }],
  ];
  for (const [path, first, second] of wholes) {
    const set = (body: object, expectedSequence: string) =>
      postern.admin.put(path, { ...body, expectedSequence }, other);
    const overtaken = (answer: Answer, currentSequence: string) =>
      expect([...refused(answer), answer.body.details[0].metadata]).toEqual([409, "CONFLICT", { currentSequence }]);
    overtaken(await set(first, "1"), "0");
    expect(done(await set(first, "0")).details.sequence).toBe("1");
    overtaken(await set(second, "0"), "1");
    expect(done(await set(second, "1")).details.sequence).toBe("2");
    overtaken(await set(second, "1"), "2");
    done(await postern.admin.delete(path, other));
    overtaken(await set(first, "3"), "0");
    expect(done(await set(first, "0")).details.sequence).toBe("4");
  }
});

test("the lockout policy likewise, with a lock that lasts or ends", async () => {
  await using own = await startPostern();
  const read = async () => done(await own.admin.get("/v1/policies/lockout"));
  expect(await read()).toEqual({ policy: { maximumAttempts: 10, untilUnlocked: false }, isDefault: true });
  const instance = { maximumAttempts: 5, lockDuration: "900s" };
  done(await own.admin.put("/v1/policies/lockout", { instance: true, policy: instance }));
  expect(await read()).toMatchObject({ policy: instance, isDefault: true });
  const policy = { maximumAttempts: 0, lockDuration: "1.500s", untilUnlocked: false };
  const { details } = done(await own.admin.put("/v1/policies/lockout", { policy }));
  expect(await read()).toEqual({ policy, isDefault: false, details });
  done(await own.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 7 } }));
  expect((await read()).policy).toEqual({ maximumAttempts: 7, untilUnlocked: false });
  const endless = { maximumAttempts: 7, untilUnlocked: true };
  done(await own.admin.put("/v1/policies/lockout", { policy: endless }));
  expect((await read()).policy).toEqual(endless);
  done(await own.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 7 } }));
  expect((await read()).policy).toEqual({ maximumAttempts: 7, untilUnlocked: false });
});

test("a policy set to what it is stays at its sequence", async () => {
  const there = within(await organization(postern));
  const set = (policy: object, kind = "password") => postern.admin.put(`/v1/policies/${kind}`, { policy }, there);
  const first = done(await set(strict));
  expect(done(await set(strict))).toEqual(first);
  expect(done(await set(lax)).details.sequence).toBe("2");
  const lock = done(await set({ maximumAttempts: 3, lockDuration: "60s" }, "lockout"));
  expect(done(await set({ maximumAttempts: 3, lockDuration: "60s" }, "lockout"))).toEqual(lock);
});

test("policies set at once all count, one after the other", async () => {
  const there = within(await organization(postern));
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, at) =>
      postern.admin.put("/v1/policies/password", { policy: { ...lax, minimumLength: 10 + at } }, there),
    ),
  );
  expect(answers.map((answer) => done(answer).details.sequence).toSorted()).toEqual(["1", "2", "3", "4", "5"]);
});

test("an organization's policy decides for its users only", async () => {
  const organizationId = await organization(postern);
  done(await postern.admin.put("/v1/policies/password", { policy: lax }, within(organizationId)));
  const person = { givenName: "A", familyName: "B", email: "a@example.com", password: "zwölf" };
  done(await postern.admin.post("/v1/users/human", { ...person, username: "lax-one" }, within(organizationId)));
  const elsewhere = await postern.admin.post("/v1/users/human", { ...person, username: "lax-two" });
  expect(refused(elsewhere)).toEqual([400, "PASSWORD_POLICY"]);
});

test("for whoever has a role on the instance the stricter policy counts, and for nobody else", async () => {
  await using own = await startPostern();
  const { admin } = own;
  const organizationId = await organization(own);
  const set = async (policy: object, kind: string, headers = {}, instance = false) =>
    done(await admin.put(`/v1/policies/${kind}`, { instance, policy }, headers));
  await set({ ...lax, minimumLength: 20, historyDepth: 1 }, "password", {}, true);
  await set({ ...lax, requiresDigit: true }, "password", within(organizationId));
  await set({ maximumAttempts: 2, untilUnlocked: true }, "lockout", {}, true);
  await set({ maximumAttempts: 0, lockDuration: "1s" }, "lockout", within(organizationId));
  const [holder, other] = [await signedUp(own, { organizationId }), await signedUp(own, { organizationId })];
  done(await admin.post("/v1/members", { userId: holder.userId, roles: ["INSTANCE_VIEWER"], instance: true }));
  const change = ({ userId }: typeof holder, newPassword: string) =>
    admin.put(`/v1/users/${userId}/password`, { newPassword }, within(organizationId));

  const short = await change(holder, "q7Zt-Rw2m-Lk");
  expect(refused(short)).toEqual([400, "PASSWORD_POLICY"]);
  expect(violationsOf(short)).toEqual(["PASSWORD_TOO_SHORT"]);
  expect(violationsOf(await change(holder, "a password of many letters"))).toEqual(["PASSWORD_NO_DIGIT"]);
  done(await change(holder, "a password of 20 letters"));
  expect(refused(await change(holder, "a password of 20 letters"))).toEqual([400, "PASSWORD_REUSED"]);
  expect((await change(other, "q7Zt-Rw2m-Lk")).status).toBe(200);

  const guess = ({ username }: typeof holder) =>
    admin.post("/v1/sessions", { loginName: username, password: "a wrong guess" });
  for (const one of [holder, holder, other, other]) expect((await guess(one)).status).toBe(401);
  const stateOf = async ({ userId }: typeof holder) =>
    done(await admin.get(`/v1/users/${userId}`, within(organizationId))).user.state;
  expect(await stateOf(holder)).toBe("USER_STATE_LOCKED");
  expect(await stateOf(other)).toBe("USER_STATE_ACTIVE");
  await set({ requirement: "FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS" }, "factor", {}, true);
  await set({ requirement: "FACTOR_REQUIREMENT_OFF" }, "factor", within(organizationId));
  done(await admin.post(`/v1/users/${holder.userId}:unlock`, {}, within(organizationId)));
  const loginName = holder.username;
  const session = await admin.post("/v1/sessions", { loginName, password: "a password of 20 letters" });
  expect(done(session)).toMatchObject({ enrolmentOnly: true });
});

test("every way to set a password, and the length of a lock, follow the stricter policy of whoever has a role on the instance", async () => {
  await using own = await startPostern();
  const { admin } = own;
  const organizationId = await organization(own);
  const set = async (kind: string, policy: object, headers = {}) =>
    done(await admin.put(`/v1/policies/${kind}`, { instance: Object.keys(headers).length === 0, policy }, headers));
  const [holder, other] = [await signedUp(own, { organizationId }), await signedUp(own, { organizationId })];
  done(await admin.post("/v1/members", { userId: holder.userId, roles: ["INSTANCE_VIEWER"], instance: true }));
  await set("password", { ...lax, minimumLength: 20, maximumAgeDays: 1, resetRequiresVerifiedEmail: true });
  await set("password", lax, within(organizationId));
  await set("factor", { requirement: "FACTOR_REQUIREMENT_OFF" }, within(organizationId));
  await set("lockout", { maximumAttempts: 2, lockDuration: "3000s" });
  await set("lockout", { maximumAttempts: 3 }, within(organizationId));

  const newPassword = "q7Zt-Rw2m-Lk";
  const setBy = {
    change: ({ client, password }: typeof holder) =>
      client.put("/v1/users/me/password", { oldPassword: password, newPassword }),
    session: ({ username, password }: typeof holder) =>
      own.as().post("/v1/sessions", { loginName: username, password, newPassword }),
    administrator: ({ userId }: typeof holder) =>
      admin.put(`/v1/users/${userId}/password`, { newPassword }, within(organizationId)),
  };
  for (const by of [setBy.change, setBy.session, setBy.administrator])
    expect(violationsOf(await by(holder))).toEqual(["PASSWORD_TOO_SHORT"]);
  expect((await setBy.change(other)).status).toBe(200);

  const enrol = ({ client }: typeof holder) => client.post("/v1/users/me/factors:startTotp", {});
  expect((await enrol(holder)).status).toBe(200);
  expect(refused(await enrol(other))).toEqual([400, "FACTORS_OFF"]);

  await using database = openClient(own.databaseUrl);
  await database.client`update passwords set changed = changed - interval '2 days'`;
  const signIn = ({ username }: typeof holder, password: string) =>
    own.as().post("/v1/sessions", { loginName: username, password });
  expect(refused(await signIn(holder, holder.password))[1]).toBe("PASSWORD_CHANGE_REQUIRED");
  expect((await signIn(other, newPassword)).status).toBe(200);

  for (let nth = 0; nth < 2; nth++) await signIn(holder, "a wrong guess");
  const locked = await database.client<{ seconds: number }[]>`
    select extract(epoch from (payload->>'until')::timestamptz - time)::integer as seconds from events where type = 'user.locked'`;
  expect([...locked]).toEqual([{ seconds: 3_000 }]);
});

test("policies out of range are refused by field", async () => {
  for (const [kind, policy, field] of [
    ["password", { minimumLength: 0 }, "policy.minimumLength"],
    ["password", { minimumLength: 8, historyDepth: 25 }, "policy.historyDepth"],
    ["lockout", { maximumAttempts: 1001 }, "policy.maximumAttempts"],
    ["lockout", { lockDuration: "0.5s" }, "policy.lockDuration"],
    ["lockout", { lockDuration: "60s", untilUnlocked: true }, "policy.lockDuration"],
    ["lockout", undefined, "policy"],
  ] as const) {
    const answer = await postern.admin.put(`/v1/policies/${kind}`, { policy });
    expect(refused(answer)).toEqual([400, "VALIDATION_FAILED"]);
    expect(JSON.stringify(answer.body)).toContain(`"field":"${field}"`);
  }
});

test("a lock longer than time itself has no end", async () => {
  const organizationId = await organization(postern);
  const policy = { maximumAttempts: 1, lockDuration: "315576000000s" };
  done(await postern.admin.put("/v1/policies/lockout", { policy }, within(organizationId)));
  const { userId, username } = await signedUp(postern, { organizationId });
  await postern.as().post("/v1/sessions", { loginName: username, password: "Wrong-Kettle" });
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.state).toBe("USER_STATE_LOCKED");
});

test("the instance's policies need the instance's permission", async () => {
  const { userId, client } = await machine(postern);
  expect(refused(await client.get("/v1/policies/password?instance=true"))).toEqual([403, "PERMISSION_DENIED"]);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }));
  const { token } = done(await postern.admin.post(`/v1/users/${userId}/tokens`));
  const owner = postern.as(token);
  done(await owner.put("/v1/policies/password", { policy: strict }));
  const denied = await owner.put("/v1/policies/password", { instance: true, policy: strict });
  expect(refused(denied)).toEqual([403, "PERMISSION_DENIED"]);
});

test("a policy that is reset gives way to the instance's, and that one to the built-in", async () => {
  await using own = await startPostern();
  const read = async () => done(await own.admin.get("/v1/policies/password"));
  done(await own.admin.put("/v1/policies/password", { instance: true, policy: strict }));
  done(await own.admin.put("/v1/policies/password", { policy: lax }));
  const reset = done(await own.admin.delete("/v1/policies/password"));
  expect(reset.details).toMatchObject({ sequence: "2", resourceOwner: own.organizationId });
  expect(await read()).toMatchObject({ policy: strict, isDefault: true, details: { sequence: "1" } });
  expect(done(await own.admin.delete("/v1/policies/password"))).toEqual({});
  expect(done(await own.admin.delete("/v1/policies/password?instance=true")).details.sequence).toBe("2");
  expect(await read()).toEqual({ policy: builtIn, isDefault: true });
  // Its history goes on where it ended, also for the same policy again.
  const again = done(await own.admin.put("/v1/policies/password", { policy: lax }));
  expect(again.details.sequence).toBe("3");
  expect(again.details.creationDate).toBe(again.details.changeDate);
  expect(await read()).toEqual({ policy: lax, isDefault: false, details: again.details });
});

test("the lockout policy is reset likewise, and passwords and sign-ins follow at once", async () => {
  const id = await organization(postern);
  const headers = within(id);
  const { username, password } = await signedUp(postern, { organizationId: id });
  const signIn = (secret: string) => postern.as().post("/v1/sessions", { loginName: username, password: secret });
  done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1 } }, headers));
  expect(done(await postern.admin.delete("/v1/policies/lockout", headers)).details.sequence).toBe("2");
  expect(done(await postern.admin.get("/v1/policies/lockout", headers)).isDefault).toBe(true);
  expect((await signIn("wrong")).status).toBe(401);
  done(await signIn(password));
});

test("no user gets an id under which the facts about policies stand", async () => {
  const organizationId = await organization(postern);
  const where = within(organizationId);
  for (const [userId, path, policy] of [
    ["password-policy", "/v1/policies/password", strict],
    ["lockout-policy", "/v1/policies/lockout", { maximumAttempts: 3 }],
  ] as const) {
    const created = await postern.admin.post("/v1/users/machine", { username: userId, name: "Robot", userId }, where);
    expect([created.status, created.body.details?.[1]?.fieldViolations]).toMatchObject([
      400,
      [{ field: "userId", reason: "USER_ID_RESERVED" }],
    ]);
    done(await postern.admin.put(path, { policy }, where));
  }
});

test("of many that set and reset one policy at once each has its version", async () => {
  const headers = within(await organization(postern));
  const calls = Array.from({ length: 12 }, (_, at) =>
    at % 2 === 0
      ? postern.admin.put("/v1/policies/password", { policy: { minimumLength: at + 1 } }, headers)
      : postern.admin.delete("/v1/policies/password", headers),
  );
  const sequences = (await Promise.all(calls)).flatMap((answer) => done(answer).details?.sequence ?? []);
  expect(new Set(sequences).size).toBe(sequences.length);
});
