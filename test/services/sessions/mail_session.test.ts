import { createContextValues } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../../src/deps.ts";
import { makeSignInCode, sealAskedCode } from "../../../src/security/mailed_secret.ts";
import { signInsOf } from "../../../src/services/sessions/sign_in.ts";
import { unique } from "../../events/log_of.ts";
import { eventually } from "../../first_start.ts";
import { enrolTotp, withTotp } from "../../fixture/factors.ts";
import {
  askedByMail,
  latestCode,
  proveEmail,
  setMailCodes,
  signInMails,
  withMailbox,
  withoutPassword,
} from "../../fixture/sign_in_mail.ts";
import { type Answer, type Client, organization, type Postern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { openHandlers } from "../../sent_statements.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";

let nodes: TwoNodes;
let postern: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes({ mailSendsPerUser: 20, mailSendsPerAddress: 20 });
  postern = nodes.one;
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const outcomeOf = ({ status, body }: Answer): string =>
  status === 200 ? "OK" : body.details?.find(({ reason }: { reason?: string }) => reason)?.reason;

type Asked = Readonly<Record<"challengeToken" | "verificationCode", string>>;
const complete = (asked: Asked, more = {}, node = postern) =>
  node.as().post("/v1/sessions/mail", { ...asked, ...more });
const start = (loginName: string, more = {}) => postern.as().post("/v1/sessions/mail:start", { loginName, ...more });

type Person = Awaited<ReturnType<typeof withMailbox>>;
const someone = async (): Promise<Person> => withMailbox(postern, { organizationId: await organization(postern) });
const asks = ({ username: loginName, email }: Pick<Person, "username" | "email">) =>
  askedByMail(postern, { loginName, email });
const sessionsOf = async (client: Client) => done(await client.get("/v1/sessions")).sessions;

test("a code that was mailed signs in once, as one factor, and is in the log", async () => {
  const ada = await someone();
  const asked = await asks(ada);
  const { token, sessionId, expirationDate } = done(await complete(asked));
  expect(expirationDate).toMatch(/^\d{4}-/);
  const client = postern.as(token);
  expect(done(await client.get("/v1/users/me")).user.id).toBe(ada.userId);
  const session = (await sessionsOf(client)).find(({ id }: { id: string }) => id === sessionId);
  expect(session).toMatchObject({ amr: ["otp"], acr: "urn:postern:acr:single-factor", enrolmentOnly: false });
  expect(outcomeOf(await complete(asked))).toBe("CODE_INVALID");
  // Whoever has no second factor acts on the own account with it, as after a reset by the same mailbox.
  done(await client.post("/v1/users/me/factors:startTotp"));

  // The name may be typed in any way that signs in with a password, and so may the code.
  const byAddress = await start(` ${ada.email.toUpperCase().replace("@", "＠")} `);
  const typed = (await latestCode(postern, ada.email, 2)).toLowerCase().replace("-", " ");
  done(await complete({ challengeToken: done(byAddress).challengeToken, verificationCode: typed }));

  const query = `/v1/events?aboutUserId=${ada.userId}&types=attempt.sign_in_code_requested`;
  const { events } = done(
    await postern.admin.get(query, inside(done(await client.get("/v1/users/me")).organization.id)),
  );
  expect(events).toHaveLength(2);
  expect(events[0]).toMatchObject({ origin: { address: expect.any(String) } });
  expect(events[0].fact.attempt.signInCodeRequested).toEqual({ userId: ada.userId, signInCodeId: expect.any(String) });
  expect(JSON.stringify(events)).not.toContain(typed.slice(0, 4).toUpperCase());
});

test("a second factor is still asked for, and a mailed code never is one", async () => {
  const organizationId = await organization(postern);
  const person = await withTotp(postern, { organizationId });
  const email = `${person.username}@example.com`;
  await proveEmail(postern, person.userId, email);
  await setMailCodes(postern, organizationId);
  const asked = await asks({ ...person, email });
  const { pending, token, sessionId } = done(await complete(asked));
  expect([token, sessionId, pending.factors]).toEqual(["", "", ["FACTOR_KIND_TOTP"]]);
  expect(outcomeOf(await complete(asked))).toBe("CODE_INVALID");
  const again = { pendingToken: pending.token, totpCode: asked.verificationCode };
  expect(outcomeOf(await postern.as().post("/v1/sessions:complete", again))).toBe("CODE_INVALID");
  const right = { pendingToken: pending.token, totpCode: person.code() };
  const full = done(await postern.as().post("/v1/sessions:complete", right));
  const [newest] = await sessionsOf(postern.as(full.token));
  expect(newest).toMatchObject({ amr: ["otp", "mfa"], acr: "urn:postern:acr:multi-factor" });

  // A new address ends what the former one began.
  const { pending: begun } = done(await complete(await asks({ ...person, email })));
  const changed = { email: `new-${email}`, isVerified: true };
  done(await postern.admin.post(`/v1/users/${person.userId}/email`, changed));
  const late = await postern
    .as()
    .post("/v1/sessions:complete", { pendingToken: begun.token, totpCode: person.code(2) });
  expect(outcomeOf(late)).toBe("CHALLENGE_INVALID");
});

test("what a mailed code began ends once codes are no longer allowed, and what a password began goes on", async () => {
  const organizationId = await organization(postern);
  const person = await withTotp(postern, { organizationId });
  const { username: loginName, password } = person;
  const email = `${loginName}@example.com`;
  await proveEmail(postern, person.userId, email);
  await setMailCodes(postern, organizationId);
  const byMail = done(await complete(await asks({ ...person, email }))).pending;
  const byPassword = done(await postern.as().post("/v1/sessions", { loginName, password })).pending;
  await setMailCodes(postern, organizationId, false);
  const answer = ({ token: pendingToken }: { token: string }) =>
    postern.as().post("/v1/sessions:complete", { pendingToken, totpCode: person.code() });
  expect(outcomeOf(await answer(byMail))).toBe("CHALLENGE_INVALID");
  done(await answer(byPassword));
});

test("rules for passwords and factors apply: a required factor is enrolled first, and an old password is changed", async () => {
  const ada = await someone();
  const of = done(await ada.client.get("/v1/users/me")).organization.id;
  const factor = { policy: { requirement: "FACTOR_REQUIREMENT_REQUIRED" } };
  done(await postern.admin.put("/v1/policies/factor", factor, inside(of)));
  const narrow = done(await complete(await asks(ada)));
  expect(narrow.enrolmentOnly).toBe(true);
  const client = postern.as(narrow.token);
  expect(outcomeOf(await client.get("/v1/users/me"))).toBe("FACTOR_ENROLMENT_REQUIRED");
  await enrolTotp(client);
  expect((await sessionsOf(client))[0]).toMatchObject({ amr: ["otp", "mfa"] });

  const bob = await someone();
  const his = done(await bob.client.get("/v1/users/me")).organization.id;
  const policy = { minimumLength: 8, changeAtNextSignIn: true, historyDepth: 2 };
  done(await postern.admin.put("/v1/policies/password", { policy }, inside(his)));
  // Who had the password may have made one; the mailbox takes the account back.
  const { token: access } = done(await postern.admin.post(`/v1/users/${bob.userId}/tokens`));
  expect((await postern.as(access).get("/v1/users/me")).status).toBe(200);
  const asked = await asks(bob);
  expect(outcomeOf(await complete(asked))).toBe("PASSWORD_CHANGE_REQUIRED");
  expect(outcomeOf(await complete(asked, { newPassword: "short" }))).toBe("PASSWORD_POLICY");
  expect(outcomeOf(await complete(asked, { newPassword: bob.password }))).toBe("PASSWORD_REUSED");
  const { token } = done(await complete(asked, { newPassword: "Green-Teapot-77" }));
  expect(done(await postern.as(token).get("/v1/users/me")).user.id).toBe(bob.userId);
  for (const ended of [bob.client, postern.as(access)]) expect((await ended.get("/v1/users/me")).status).toBe(401);
  const signIn = (password: string) => postern.as().post("/v1/sessions", { loginName: bob.username, password });
  expect([(await signIn("Green-Teapot-77")).status, (await signIn(bob.password)).status]).toEqual([200, 401]);
});

test("somebody without a password signs in, too, and with a second factor if there is one", async () => {
  const grace = await withoutPassword(postern, { organizationId: await organization(postern) });
  const client = postern.as(done(await complete(await asks(grace))).token);
  expect(done(await client.get("/v1/users/me")).user.id).toBe(grace.userId);
  const codes = await enrolTotp(client).then(() => client.post("/v1/users/me/factors:generateRecoveryCodes"));
  const { pending } = done(await complete(await asks(grace)));
  const answer = { pendingToken: pending.token, recoveryCode: done(codes).codes[0] };
  done(await postern.as().post("/v1/sessions:complete", answer));
});

/** What happens between the mail and the code, after which the code is worth nothing. */
const between: readonly (readonly [string, (ada: Person, organizationId: string) => Promise<unknown>])[] = [
  ["the policy is switched off", (_, organizationId) => setMailCodes(postern, organizationId, false)],
  ["the policy is removed", (_, of) => postern.admin.delete("/v1/policies/sign-in", inside(of)).then(done)],
  ["the user is deactivated", ({ userId }) => postern.admin.post(`/v1/users/${userId}:deactivate`).then(done)],
  [
    "the user was deactivated for a moment",
    async ({ userId }) => {
      done(await postern.admin.post(`/v1/users/${userId}:deactivate`));
      done(await postern.admin.post(`/v1/users/${userId}:reactivate`));
    },
  ],
  ["the user is deleted", ({ userId }) => postern.admin.delete(`/v1/users/${userId}`).then(done)],
  ["the organization is deactivated", (_, of) => postern.admin.post(`/v1/organizations/${of}:deactivate`).then(done)],
  [
    "the user is locked",
    async ({ username: loginName }, of) => {
      done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1 } }, inside(of)));
      await postern.as().post("/v1/sessions", { loginName, password: "Wrong-Kettle-42" });
    },
  ],
  [
    "the address changes",
    ({ userId, email }) =>
      postern.admin.post(`/v1/users/${userId}/email`, { email: `x${email}`, isVerified: true }).then(done),
  ],
  [
    "the address changes and changes back",
    async ({ userId, email }) => {
      done(await postern.admin.post(`/v1/users/${userId}/email`, { email: `x${email}`, isVerified: true }));
      await proveEmail(postern, userId, email);
    },
  ],
  [
    "the password changes",
    async ({ client, password: oldPassword }) =>
      done(await client.put("/v1/users/me/password", { oldPassword, newPassword: "Green-Teapot-77" })),
  ],
];

test.each(between)("a code is worth nothing once %s", async (_, happens) => {
  const ada = await someone();
  const { id } = done(await ada.client.get("/v1/users/me")).organization;
  const asked = await asks(ada);
  await happens(ada, id);
  expect(outcomeOf(await complete(asked))).toBe("CODE_INVALID");
});

test("a code works only with the token of whoever asked for it, and a token only with its own code", async () => {
  const [ada, eve] = [await someone(), await someone()];
  const [victims, own] = [await asks(ada), await asks(eve)];
  expect(outcomeOf(await complete({ ...own, verificationCode: victims.verificationCode }))).toBe("CODE_INVALID");
  expect(outcomeOf(await complete({ ...victims, verificationCode: own.verificationCode }))).toBe("CODE_INVALID");
  // Eve asks for a mail to Ada as well: that ends nothing of Ada's, and its code does not work with any other token.
  const more = await asks(ada);
  expect(outcomeOf(await complete({ ...more, challengeToken: own.challengeToken }))).toBe("CODE_INVALID");
  expect(outcomeOf(await complete({ ...more, challengeToken: victims.challengeToken }))).toBe("CODE_INVALID");
  // The id of a code is in the log, but no token can be made of it without the master key.
  const { body } = await postern.admin.get(`/v1/events?aboutUserId=${ada.userId}&instance=true`);
  expect(body.events ?? []).toBeInstanceOf(Array);
  for (const challengeToken of [newId(), `x${victims.challengeToken}`, "0".repeat(100), "{}"])
    expect(outcomeOf(await complete({ ...victims, challengeToken }))).toBe("CHALLENGE_INVALID");
  done(await complete(victims));
  done(await complete(own));
});

test("of uses at once at two nodes one waits for the second factor", async () => {
  const organizationId = await organization(postern);
  const person = await withTotp(postern, { organizationId });
  const email = `${person.username}@example.com`;
  await proveEmail(postern, person.userId, email);
  await setMailCodes(postern, organizationId);
  const asked = await asks({ ...person, email });
  const uses = await Promise.all(Array.from({ length: 8 }, (_, nth) => complete(asked, {}, nodes.through(nth))));
  const begun = uses.flatMap(({ body }) => (body.pending ? [body.pending.token] : []));
  expect([begun.length, uses.filter(({ status }) => status === 200).length]).toEqual([1, 1]);
});

test("of uses at once at two nodes one signs in, and of guesses at once five are compared", async () => {
  const ada = await someone();
  const asked = await asks(ada);
  const uses = await Promise.all(
    Array.from({ length: 8 }, (_, n) => complete(asked, {}, n % 2 === 0 ? nodes.one : nodes.two)),
  );
  expect(uses.map(outcomeOf).filter((one) => one === "OK")).toHaveLength(1);
  expect(new Set(uses.map(outcomeOf))).not.toContain(undefined);

  const next = await asks(ada);
  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      complete({ ...next, verificationCode: `2222-22${20 + n}` }, {}, n % 2 === 0 ? nodes.one : nodes.two),
    ),
  );
  const outcomes = guesses.map(outcomeOf);
  expect(outcomes.filter((one) => one === "CODE_INVALID")).toHaveLength(5);
  expect(outcomes.filter((one) => one === "CODE_ATTEMPTS")).toHaveLength(15);
  expect(outcomeOf(await complete(next))).toBe("CODE_ATTEMPTS");
  // Neither the password nor another code has to wait.
  done(await postern.as().post("/v1/sessions", { loginName: ada.username, password: ada.password }));
  done(await complete(await asks(ada)));
});

test("nobody's mailbox is flooded, and whoever has the name goes on by password", async () => {
  await using few = await startTwoNodes({ mailSendsPerUser: 3, mailSendsPerAddress: 3 });
  const ada = await withMailbox(few.one, { organizationId: await organization(few.one) });
  const ask = () => few.one.as().post("/v1/sessions/mail:start", { loginName: ada.username });
  const first = await askedByMail(few.one, { loginName: ada.username, email: ada.email });
  for (let n = 0; n < 8; n++) done(await ask());
  await signInMails(few.one, ada.email, 3);
  const count = async () => {
    const query = `/v1/events?aboutUserId=${ada.userId}&types=attempt.sign_in_code_requested&types=attempt.more`;
    const of = inside(done(await ada.client.get("/v1/users/me")).organization.id);
    return done(await few.one.admin.get(query, of)).events.length >= 9 ? true : undefined;
  };
  await eventually(count, "the requests without a mail");
  expect(await signInMails(few.one, ada.email, 0)).toHaveLength(3);
  // None of these ended the first, nor counts for mails of another kind.
  done(await few.one.as().post("/v1/sessions/mail", first));
  done(await few.one.as().post("/v1/password-resets", { loginName: ada.username }));
  await mailsTo(few.one, ada.email, 1, /\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/);
  done(await few.one.as().post("/v1/sessions", { loginName: ada.username, password: ada.password }));
});

/** People whom a sign-in by mail is not for, and a name that nobody has. */
async function withoutMail() {
  const ada = await someone();
  const organizationId = await organization(postern);
  const off = await signedUp(postern, { organizationId });
  await proveEmail(postern, off.userId, `${off.username}@example.com`);
  const locked = await someone();
  const its = inside(done(await locked.client.get("/v1/users/me")).organization.id);
  done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1 } }, its));
  await postern.as().post("/v1/sessions", { loginName: locked.username, password: "Wrong-Kettle-42" });
  const unproven = await signedUp(postern, {
    organizationId: done(await ada.client.get("/v1/users/me")).organization.id,
  });
  const inactive = await someone();
  done(await postern.admin.post(`/v1/users/${inactive.userId}:deactivate`));
  const { username, email } = ada;
  // A letter of another alphabet makes another name.
  const names = [off.username, locked.username, unproven.username, inactive.username, unique("nobody")];
  return {
    username,
    email,
    names: [...names, username.replace("e", "е"), email.replace("e", "е"), `nobody@example.com`],
  };
}

test("known, unknown, not allowed, locked and without a proven address are alike in answers, statements and hashes", async () => {
  const { username, email, names } = await withoutMail();
  await using handlers = openHandlers(postern);
  let hashes = 0;
  const { passwords } = handlers.deps.secrets;
  const counted: typeof passwords = {
    ...passwords,
    verifyDecoy(...given) {
      hashes++;
      return passwords.verifyDecoy(...given);
    },
    inOnePlace(...given) {
      hashes++;
      return passwords.inOnePlace(...given);
    },
  };
  const deps = { ...handlers.deps, secrets: { ...handlers.deps.secrets, passwords: counted } };
  const { mails } = signInsOf(deps, postern.config);
  const call = { values: createContextValues(), signal: new AbortController().signal, requestHeader: new Headers() };
  const costs = async (name: string) => {
    handlers.heard();
    const { challengeToken } = await mails.start({ loginName: name, browsers: [] }, call);
    const started = handlers.heard();
    const said: string[] = [];
    for (let n = 0; n < 6; n++) {
      const guess = { challengeToken, code: "2222-2222", newPassword: undefined, call };
      // biome-ignore lint/suspicious/noExplicitAny: no session begins.
      said.push(await mails.complete(guess, {} as any).then(String, (error: Error) => error.message));
    }
    return { started, said, completed: handlers.heard(), length: challengeToken.length };
  };
  const before = (await signInMails(postern, email, 0)).length;
  const known = await costs(username);
  await signInMails(postern, email, before + 1);
  expect([known.started.length, known.completed.length, new Set(known.said).size]).toEqual([1, 2, 2]);
  for (const name of names) expect(await costs(name), name).toEqual(known);
  expect(hashes).toBe(0);
  // The worker takes requests in their order: once this is answered, none of those before got a mail.
  await asks({ username, email });
  expect(await signInMails(postern, email, 0)).toHaveLength(before + 2);
  for (const name of names) expect(await signInMails(postern, `${name}@example.com`, 0)).toEqual([]);
  const unknown = [outcomeOf(await start(unique("nobody"))), Object.keys((await start(unique("nobody"))).body)];
  expect(unknown).toEqual(["OK", ["challengeToken", "expirationDate"]]);
});

test("for a role on the instance, its policy must allow codes as well", async () => {
  const boss = await someone();
  done(await postern.admin.post("/v1/members", { userId: boss.userId, roles: ["INSTANCE_VIEWER"], instance: true }));
  const marker = await someone();
  done(await start(boss.username));
  await asks(marker);
  expect(await signInMails(postern, boss.email, 0)).toEqual([]);
  const policy = { mailCodes: true };
  done(await postern.admin.put("/v1/policies/sign-in", { instance: true, policy }));
  const asked = await asks(boss);
  done(await postern.admin.delete("/v1/policies/sign-in?instance=true"));
  expect(outcomeOf(await complete(asked))).toBe("CODE_INVALID");
  // By the default of the instance, organizations without a policy of their own allow them.
  const plain = await signedUp(postern, { organizationId: await organization(postern) });
  const email = `${plain.username}@example.com`;
  await proveEmail(postern, plain.userId, email);
  done(await postern.admin.put("/v1/policies/sign-in", { instance: true, policy }));
  done(await complete(await asks({ ...plain, email })));
  done(await postern.admin.delete("/v1/policies/sign-in?instance=true"));
});

test("a token is over after a quarter of an hour, and huge or broken input is refused", async () => {
  await using handlers = openHandlers(postern);
  const { keyring } = handlers.deps.secrets;
  const of = { id: newId(), userId: "somebody", email: "somebody@example.com" };
  const { code: verificationCode } = makeSignInCode(keyring, of);
  const challengeToken = sealAskedCode(keyring, { id: of.id, until: new Date(Date.now() - 1) });
  expect(outcomeOf(await complete({ challengeToken, verificationCode }))).toBe("CHALLENGE_INVALID");
  const { expirationDate } = done(await start("nobody"));
  expect(Date.parse(expirationDate) - Date.now()).toBeLessThanOrEqual(900_000);
  for (const loginName of ["x".repeat(201), "a\u0000b", ""])
    expect(outcomeOf(await start(loginName)), loginName).toBe("VALIDATION_FAILED");
  const token = done(await start("nobody")).challengeToken;
  for (const broken of ["x".repeat(201), "\u0000", " "])
    expect(outcomeOf(await complete({ challengeToken: token, verificationCode: broken }))).toBe("VALIDATION_FAILED");
  for (const verificationCode of ["＿".repeat(200), "\ud83e\udd8a", "' or 1=1"])
    expect(outcomeOf(await complete({ challengeToken: token, verificationCode }))).toBe("CODE_INVALID");
});
