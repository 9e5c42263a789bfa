import { randomBytes } from "node:crypto";
import { createContextValues } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { RegistrationService } from "../../../gen/postern/v1/registration_pb.ts";
import { keys } from "../../../src/deps.ts";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { newToken } from "../../../src/security/token.ts";
import { unknownCallers } from "../../../src/security/turns.ts";
import { registrationCompletions } from "../../../src/services/registrations/complete_registration.ts";
import { expiredRegistrations } from "../../../src/services/registrations/registration_chores.ts";
import { type Client, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { type Handlers, openHandlers } from "../../sent_statements.ts";
import { codeTo, done, invite, newAddress, refused } from "../invitations/invited.ts";
import { allow, askToRegister, codeOfRegistration, newcomer, registering } from "./registering.ts";

const settings = { masterKeys: [randomBytes(32)], adminToken: newToken("pt"), mailSendsPerAddress: 5 };

let postern: Postern;
let handlers: Handlers;
beforeAll(async () => {
  postern = await startPostern(settings);
  handlers = openHandlers(postern);
});
afterAll(async () => {
  await handlers?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const anyone = () => postern.as();
const ask = (organizationId: string, email: string) => anyone().post("/v1/registrations", { organizationId, email });
const complete = (code: string, more: object = {}, at: Client = anyone()) =>
  at.post("/v1/registrations:complete", { ...newcomer, code, ...more });
const signIn = (loginName: string, organizationId = "", password = newcomer.password) =>
  anyone().post("/v1/sessions", { loginName, organizationId, password });
const usersWith = async (organizationId: string, email: string) =>
  done(await postern.admin.get(`/v1/users?filter.email=${email}`, inside(organizationId))).users;
const eventsOf = async (organizationId: string, type: string) =>
  done(await postern.admin.get(`/v1/events?types=${type}`, inside(organizationId))).events;
const someDomain = () => `firm-${randomBytes(5).toString("hex")}.example`;
const give = async (organizationId: string, name: string): Promise<string> =>
  done(await postern.admin.post("/v1/domains", { name, withoutDns: true }, inside(organizationId))).domainId;

/** The rows that registrations with an address have left. */
const leftOf = async (email: string) => {
  const [row] = await handlers.deps.sql`
    select (select count(*)::int from registration_addresses a where a.email = ${email}) as addresses,
      (select count(*)::int from mail_codes c where c.email = ${email})
        + (select count(*)::int from mail_messages m where m.email = ${email} and m.dead is not null) as codes`;
  return row;
};

test("nobody may register unless the organization says so, and no organization is told from one that is closed", async () => {
  const [organizationId, email] = [await organization(postern), newAddress()];
  const policy = async () => done(await postern.admin.get("/v1/policies/registration", inside(organizationId))).policy;
  expect(await policy()).toEqual({ audience: "REGISTRATION_AUDIENCE_NOBODY" });
  const closed = await ask(organizationId, email);
  expect(refused(closed)).toEqual([400, "REGISTRATION_CLOSED"]);
  const { requestId: _, ...told } = closed.body;
  for (const other of ["none", "0123456789abcdefghjkmnpq"])
    expect((await ask(other, email)).body).toMatchObject({ message: told.message, code: told.code });
  await allow(postern, organizationId, "EVERYBODY");
  done(await ask(organizationId, email));
  done(await postern.admin.post(`/v1/organizations/${organizationId}:deactivate`));
  expect(refused(await ask(organizationId, email))).toEqual([400, "REGISTRATION_CLOSED"]);
  done(await postern.admin.post(`/v1/organizations/${organizationId}:reactivate`));
  done(await postern.admin.delete("/v1/policies/registration", inside(organizationId)));
  expect([await policy(), refused(await ask(organizationId, email))]).toEqual([
    { audience: "REGISTRATION_AUDIENCE_NOBODY" },
    [400, "REGISTRATION_CLOSED"],
  ]);
});

test("the code of a mail creates a user, whose address is proven, and until then there is nobody", async () => {
  const [organizationId, email] = [await registering(postern), newAddress()];
  const code = await codeOfRegistration(postern, { organizationId, email });
  expect(await usersWith(organizationId, email)).toEqual([]);
  const { userId, username, details } = done(await complete(code.toLowerCase().replaceAll("-", " ")));
  expect([username, details.resourceOwner]).toEqual([email, organizationId]);
  const human = { givenName: "Grace", familyName: "Hopper", email, emailVerified: true };
  expect(await usersWith(organizationId, email)).toMatchObject([{ id: userId, username: email, human }]);
  // By the name, and by the address, which a mail of ours has proven, whatever the name.
  for (const at of ["", organizationId]) done(await signIn(email, at));
  done(await postern.admin.put(`/v1/users/${userId}/username`, { username: `grace-${userId}` }));
  done(await signIn(email));
  const [created] = await eventsOf(organizationId, "registration.created");
  const [completed] = await eventsOf(organizationId, "registration.completed");
  const [born] = await eventsOf(organizationId, "user.human_created");
  expect(created.origin.address).toMatch(/127\.0\.0\.1$/);
  expect(JSON.stringify([created, completed])).not.toContain(email);
  expect(completed.fact.registration.completed).toEqual({ userId });
  expect([born.actorId, completed.objectId]).toEqual([userId, created.objectId]);
  expect(await leftOf(email)).toEqual({ addresses: 0, codes: 0 });
  expect(refused(await complete(code))).toEqual([400, "CODE_INVALID"]);
});

test("for proven domains, only an address of such a domain is let in, whoever has it and however it is written", async () => {
  const [organizationId, other, domain, foreign] = [
    await registering(postern, "PROVEN_DOMAINS"),
    await organization(postern),
    someDomain(),
    someDomain(),
  ];
  await give(organizationId, domain);
  await give(other, foreign);
  done(await postern.admin.post("/v1/domains", { name: "unproven.example" }, inside(organizationId)));
  for (const host of [
    foreign,
    "example.com",
    "unproven.example",
    `sub.${domain}`,
    `x${domain}`,
    `${domain}.example.com`,
  ])
    expect([host, ...refused(await ask(organizationId, `ada@${host}`))]).toEqual([host, 400, "REGISTRATION_DOMAIN"]);
  // A Cyrillic letter that looks like the Latin one, as it is and as name servers know it.
  const alike = domain.replace("e", "е");
  expect(refused(await ask(organizationId, `ada@${alike}`))).toEqual([400, "VALIDATION_FAILED"]);
  const ascii = new URL(`http://${alike}`).hostname;
  expect(refused(await ask(organizationId, `ada@${ascii}`))).toEqual([400, "REGISTRATION_DOMAIN"]);
  const email = `Ada@${domain.toUpperCase()}`;
  done(await complete(await codeOfRegistration(postern, { organizationId, email })));
  done(await signIn(email.toLowerCase()));
});

test("an address that a user has gets the same response, for the same statements, and a mail that says so", async () => {
  const organizationId = await registering(postern);
  const { username, userId } = await signedUp(postern, { organizationId });
  const [known, unknown] = [`${username}@example.com`, newAddress()];
  const answers = [await ask(organizationId, known.toUpperCase()), await ask(organizationId, unknown)];
  const [told, sent] = answers.map(({ status, body }) => [status, body]);
  expect(told).toEqual(sent);
  const [mail] = await mailsTo(postern, known.toUpperCase());
  expect(mail?.subject).toBe(mailTexts.registration_known.en.subject);
  expect(mail?.text).toContain(mailTexts.registration_known.en.before);
  expect(mail?.text).toMatch(/\/password\/forgotten$/m);
  expect(mail?.text).not.toMatch(/[2-9A-Z]{4}-[2-9A-Z]{4}/);
  expect((await mailsTo(postern, unknown))[0]?.subject).toBe(mailTexts.registration.en.subject);
  const [attempt] = await eventsOf(organizationId, "attempt.registration_requested");
  expect(attempt.fact.attempt.registrationRequested).toEqual({ userId });
  expect(attempt.origin.address).toMatch(/127\.0\.0\.1$/);
  expect(await leftOf(known)).toEqual({ addresses: 0, codes: 0 });

  let hashes = 0;
  const { passwords } = handlers.deps.secrets;
  const { hash } = passwords;
  const counted: typeof hash = (...given) => {
    hashes++;
    return hash(...given);
  };
  Object.assign(passwords, { hash: counted });
  const costOf = async (email: string) => {
    handlers.heard();
    await handlers.run(RegistrationService.method.requestRegistration, { request: { organizationId, email } });
    const [read, ...writes] = handlers.heard();
    return { read, writes: writes.length, hashes };
  };
  const cost = await costOf(known);
  expect(cost).toEqual({ read: expect.stringContaining("registration_policies"), writes: 1, hashes: 0 });
  for (const email of [unknown, newAddress()]) expect(await costOf(email)).toEqual(cost);
});

test("nobody reserves an address: not a tenant that verifies it itself, nor a user who only says that it is theirs", async () => {
  const [organizationId, other, victims] = [await registering(postern), await organization(postern), newAddress()];
  const [eve, mallory] = [
    await signedUp(postern, { organizationId: other }),
    await signedUp(postern, { organizationId }),
  ];
  done(await postern.admin.post(`/v1/users/${eve.userId}/email`, { email: victims, isVerified: true }));
  done(await mallory.client.post("/v1/users/me/email", { email: victims }));
  const asked = await codeOfRegistration(postern, { organizationId, email: victims });
  // Whoever else asks with the address takes nothing away.
  await askToRegister(postern, { organizationId, email: victims });
  const { userId } = done(await complete(asked));
  const { token } = done(await signIn(victims));
  expect(done(await postern.as(token).get("/v1/users/me")).user.id).toBe(userId);
});

test("a code works once, however often and wherever it is used at the same moment", async () => {
  const organizationId = await registering(postern);
  const asked = await Promise.all(
    Array.from({ length: 5 }, newAddress).map(async (email) => {
      const code = await codeOfRegistration(postern, { organizationId, email });
      return { email, codes: [code, await codeOfRegistration(postern, { organizationId, email }, 2)] };
    }),
  );
  // Only now, because a node keeps the mails that it sends in a file of its own.
  await using second = await startPostern({ ...settings, databaseUrl: postern.databaseUrl });
  for (const { email, codes } of asked) {
    const answers = await Promise.all(
      [0, 1, 2, 3, 4, 5].map((n) => {
        const node = n % 2 === 0 ? postern : second;
        const username = `grace-${n}-${randomBytes(5).toString("hex")}`;
        return complete(codes[n < 3 ? 0 : 1] ?? "", { username }, node.as());
      }),
    );
    const outcomes = answers.map((answer) => (answer.status === 200 ? "OK" : refused(answer)[1])).sort();
    expect(outcomes).toEqual([...Array.from({ length: 5 }, () => "CODE_INVALID"), "OK"]);
    expect(await usersWith(organizationId, email)).toHaveLength(1);
  }
});

test("codes of other mails do not register, and one of another organization registers only there", async () => {
  const [a, b, email] = [await registering(postern), await registering(postern), newAddress()];
  await invite(postern.admin, { email, memberships: [{ roles: ["ORG_VIEWER"] }] }, inside(a));
  const invitation = await codeTo(postern, email);
  for (const code of [invitation, "2222", "2".repeat(24), "9".repeat(200)])
    expect(refused(await complete(code))).toEqual([400, "CODE_INVALID"]);
  expect(refused(await complete("\u0000".repeat(201)))).toEqual([400, "VALIDATION_FAILED"]);
  const { userId, details } = done(await complete(await codeOfRegistration(postern, { organizationId: b, email }, 2)));
  expect([details.resourceOwner, await usersWith(a, email)]).toEqual([b, []]);
  expect(await usersWith(b, email)).toMatchObject([{ id: userId }]);
});

test("what the organization no longer allows when the code is used is refused, and the code stays good", async () => {
  const [organizationId, domain] = [await registering(postern, "PROVEN_DOMAINS"), someDomain()];
  const [domainId, email] = [await give(organizationId, domain), `ada@${domain}`];
  const code = await codeOfRegistration(postern, { organizationId, email });
  done(await postern.admin.delete(`/v1/domains/${domainId}`, inside(organizationId)));
  expect(refused(await complete(code))).toEqual([400, "REGISTRATION_DOMAIN"]);
  await allow(postern, organizationId, "NOBODY");
  expect(refused(await complete(code))).toEqual([400, "REGISTRATION_CLOSED"]);
  await allow(postern, organizationId, "EVERYBODY");
  // An administrator was quicker.
  const person = { username: `ada-${domain}`, givenName: "Ada", familyName: "Byron", email };
  const { userId } = done(await postern.admin.post("/v1/users/human", person, inside(organizationId)));
  expect(refused(await complete(code))).toEqual([400, "REGISTRATION_ADDRESS_KNOWN"]);
  done(await postern.admin.delete(`/v1/users/${userId}`));
  expect(refused(await complete(code, { password: "short" }))).toEqual([400, "PASSWORD_POLICY"]);
  done(await complete(code));
});

test("a new name is nobody else's, not even one that looks alike, and no other address", async () => {
  const [organizationId, email] = [await registering(postern), newAddress()];
  const { username } = await signedUp(postern, { organizationId });
  const code = await codeOfRegistration(postern, { organizationId, email });
  const wide = [...username].map((char) =>
    /[a-z]/.test(char) ? String.fromCodePoint(char.charCodeAt(0) + 0xfee0) : char,
  );
  for (const [name, reason] of [
    [username.toUpperCase(), "LOGIN_NAME_TAKEN"],
    [wide.join(""), "LOGIN_NAME_TAKEN"],
    ["boss@example.com", "VALIDATION_FAILED"],
    [`x${email}`, "VALIDATION_FAILED"],
    [`ada@${organizationId}`, "VALIDATION_FAILED"],
    ["two words", "VALIDATION_FAILED"],
    ["nul\u0000", "VALIDATION_FAILED"],
    ["a\u200bb", "VALIDATION_FAILED"],
    ["x".repeat(201), "VALIDATION_FAILED"],
  ] as const)
    expect([name, ...refused(await complete(code, { username: name }))]).toEqual([
      name,
      reason === "LOGIN_NAME_TAKEN" ? 409 : 400,
      reason,
    ]);
  // By whom a name is taken is nobody's to know.
  const taken = JSON.stringify((await complete(code, { username })).body);
  expect([taken.includes("LOGIN_NAME_TAKEN"), taken.includes(organizationId), taken.includes("userId")]).toEqual([
    true,
    false,
    false,
  ]);
  for (const wrong of ["", "no address", "a@b\u0000.example", `a@${"b".repeat(300)}`])
    expect(refused(await ask(organizationId, wrong))).toEqual([400, "VALIDATION_FAILED"]);
  expect(refused(await ask(organizationId, `${"x".repeat(65)}@example.com`))).toEqual([400, "EMAIL_INVALID"]);
  expect(done(await complete(code, { username: email.toUpperCase() })).username).toBe(email.toUpperCase());
});

test("where an organization has proven a domain, nobody registers a name that passes for an address of it", async () => {
  const [organizationId, domain] = [await registering(postern), someDomain()];
  await give(organizationId, domain);
  const [stranger, [local = ""]] = [newAddress(), newAddress().split("@")];
  const colleague = `${local}@${domain}`;
  const code = await codeOfRegistration(postern, { organizationId, email: stranger });
  for (const username of ["boss", local, stranger.split("@")[0] ?? ""])
    expect(refused(await complete(code, { username }))).toEqual([400, "VALIDATION_FAILED"]);
  expect(done(await complete(code, { username: stranger.toUpperCase() })).username).toBe(stranger.toUpperCase());
  const own = await codeOfRegistration(postern, { organizationId, email: colleague });
  expect(refused(await complete(own, { username: "boss" }))).toEqual([400, "VALIDATION_FAILED"]);
  expect(done(await complete(own, { username: local })).username).toBe(local);
});

test("an organization sends three mails per hour to an address, all of them together a few more, and 1,000 in all", async () => {
  const [organizationId, email] = [await registering(postern), newAddress()];
  for (let n = 0; n < 5; n++) await askToRegister(postern, { organizationId, email });
  const { username } = await signedUp(postern, { organizationId });
  for (let n = 0; n < 5; n++) await askToRegister(postern, { organizationId, email: `${username}@example.com` });
  const sends = async (to: string) => {
    const [row] = await handlers.deps.sql`select count(*)::int as n from mail_sends where email = ${to}`;
    return row?.n;
  };
  expect([await sends(email), await sends(`${username}@example.com`)]).toEqual([3, 3]);
  for (let n = 0; n < 5; n++) await askToRegister(postern, { organizationId: await registering(postern), email });
  expect(await sends(email)).toBe(postern.config.mailSendsPerAddress);

  await handlers.deps.sql`
    insert into mail_sends (email, purpose, n, user_id, time)
    select 'flood-' || n || '@example.com', 'registration', 1, ${organizationId}, now() from generate_series(1, 994) n`;
  const answers = [await ask(organizationId, newAddress()), await ask(organizationId, newAddress())];
  expect(answers.map((answer) => answer.status)).toEqual([429, 429]);
  expect(refused(await ask(organizationId, `${username}@example.com`))).toEqual([429, "SEND_LIMIT"]);
  await askToRegister(postern, { organizationId: await registering(postern), email: newAddress() });
});

test("requests at once with one address are answered alike, whether a user has it or not, and begin one registration", async () => {
  const [organizationId, unknown] = [await registering(postern), newAddress()];
  const { username } = await signedUp(postern, { organizationId });
  for (const email of [unknown, `${username}@example.com`]) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(organizationId, email)));
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, {}]));
  }
  expect(await leftOf(unknown)).toEqual({ addresses: 1, codes: 3 });
  expect(await eventsOf(organizationId, "registration.created")).toHaveLength(1);
});

test("a registration that nobody completes is deleted after an hour, with its address", async () => {
  const [organizationId, email] = [await registering(postern), newAddress()];
  const code = await codeOfRegistration(postern, { organizationId, email });
  const later = { ...handlers.deps, clock: () => new Date(Date.now() + 3_601_000) };
  await expiredRegistrations(handlers.deps).batch(1000);
  expect(await leftOf(email)).toEqual({ addresses: 1, codes: 1 });
  await handlers.deps.sql`
    insert into mail_messages (mail_id, owner, user_id, kind, email, language, expiration_date, created, dead)
    select 'given up ' || registration_id, owner, registration_id, 'registration', email, 'en', now(), now(), now()
    from registration_addresses where email = ${email}`;
  while ((await leftOf(email))?.addresses > 0) await expiredRegistrations(later).batch(1000);
  expect(await leftOf(email)).toEqual({ addresses: 0, codes: 0 });
  expect(refused(await complete(code))).toEqual([400, "CODE_INVALID"]);
  expect(await eventsOf(organizationId, "registration.expired")).toHaveLength(1);
});

test("with an organization, its registrations go", async () => {
  const [organizationId, email] = [await registering(postern), newAddress()];
  const code = await codeOfRegistration(postern, { organizationId, email });
  done(await postern.admin.delete(`/v1/organizations/${organizationId}`));
  expect(["REGISTRATION_CLOSED", "CODE_INVALID"]).toContain(refused(await complete(code))[1]);
  await vi.waitFor(async () => expect(await leftOf(email)).toEqual({ addresses: 0, codes: 0 }), 60_000);
  expect(refused(await complete(code))).toEqual([400, "CODE_INVALID"]);
});

test("one network cannot use up the mails of an organization: it gets a tenth of them, and others go on", async () => {
  await using open = await startPostern({
    ...{ adminToken: settings.adminToken, masterKeys: settings.masterKeys },
    ...{ passwordResetsPerAddressPerMinute: 0, trustedProxies: ["127.0.0.1"] },
  });
  const [organizationId, other] = [await registering(open), await registering(open)];
  const { username } = await signedUp(open, { organizationId });
  const askFrom = (address: string, email: string, at = organizationId) =>
    open.as().post("/v1/registrations", { organizationId: at, email }, { "x-forwarded-for": address });
  for (let n = 0; n < 100; n++) done(await askFrom("203.0.113.1", newAddress()));
  for (const email of [newAddress(), `${username}@example.com`])
    expect(refused(await askFrom("203.0.113.1", email))).toEqual([429, "RATE_LIMIT"]);
  done(await askFrom("203.0.113.2", newAddress()));
  done(await askFrom("203.0.113.1", newAddress(), other));
});

test("the password of whoever registers is hashed in the turn of unknown callers, by network", async () => {
  const [organizationId, email] = [await registering(postern), newAddress()];
  const code = await codeOfRegistration(postern, { organizationId, email });
  const shares: unknown[] = [];
  const { passwords, ...others } = handlers.deps.secrets;
  const noted: typeof passwords = {
    ...passwords,
    hash(password, place) {
      shares.push(place?.share);
      return passwords.hash(password, place);
    },
  };
  const deps = { ...handlers.deps, secrets: { ...others, passwords: noted } };
  const { open, complete: completed } = registrationCompletions(deps, postern.config);
  const values = createContextValues().set(keys.network, "203.0.113.1");
  const call = { values, signal: new AbortController().signal, requestHeader: new Headers() };
  await completed(await open(code, call), { ...newcomer, username: "" }, call);
  expect(shares).toEqual([[unknownCallers, "203.0.113.1"]]);
});
