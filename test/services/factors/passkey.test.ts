import { createSign, generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { authenticator, type Page } from "../../fixture/authenticator.ts";
import { enrolPasskey, passkeyChallenge, pendingOf, withPasskey, withTotp } from "../../fixture/factors.ts";
import { type Answer, type Postern, signedUp } from "../../harness.ts";
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
const present = (challengeToken: string, credential: object, at = postern) =>
  at.as().post("/v1/sessions/passkey", { challengeToken, credential });
const invalid = [400, "PASSKEY_INVALID"];

test("a passkey alone signs its user in, without a login name", async () => {
  const { key, userId, factorId } = await withPasskey(postern);
  const { challengeToken, options } = await passkeyChallenge(postern);
  expect(options).toMatchObject({ rpId: "identity.example.com", userVerification: "required", allowCredentials: [] });
  const session = done(await present(challengeToken, key.get(options)));
  const client = postern.as(session.token);
  expect(done(await client.get("/v1/users/me")).user.id).toBe(userId);
  const [newest] = done(await client.get("/v1/sessions")).sessions;
  expect(newest).toMatchObject({ amr: ["hwk", "user", "mfa"], acr: "urn:postern:acr:multi-factor" });
  const { events } = done(await postern.admin.get(`/v1/events?objectId=${factorId}`));
  expect(events[0]).toMatchObject({
    type: "factor.used",
    fact: { factor: { used: { sessionId: session.sessionId } } },
  });
});

test("a passkey that is kept in more than one place is said to be, and so is its session", async () => {
  const { key, client } = await withPasskey(postern, { isSynced: true });
  expect(done(await client.get("/v1/users/me/factors")).factors).toMatchObject([{ isSynced: true }]);
  const { challengeToken, options } = await passkeyChallenge(postern);
  const session = done(await present(challengeToken, key.get(options)));
  const [newest] = done(await postern.as(session.token).get("/v1/sessions")).sessions;
  expect(newest.amr).toEqual(["swk", "user", "mfa"]);
});

test("the options for a new passkey ask for what is needed, and leave out the ones that are there", async () => {
  const { client, username, key } = await withPasskey(postern);
  const { options } = done(await client.post("/v1/users/me/factors:startPasskey"));
  expect(options).toMatchObject({
    rp: { id: "identity.example.com" },
    user: { name: username, displayName: "Ada Byron" },
    attestation: "none",
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: "public-key", alg })),
    authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
  });
  const { id } = key.get({ rpId: "identity.example.com", challenge: "" });
  expect(options.excludeCredentials).toMatchObject([{ id, transports: ["hybrid", "internal"] }]);
  expect(Buffer.from(options.user.id, "base64url")).toHaveLength(64);
  const other = done(await (await signedUp(postern)).client.post("/v1/users/me/factors:startPasskey"));
  expect(other.options.user.id).not.toBe(options.user.id);
});

test("after a password the user's passkey completes the sign-in, and nobody else's does", async () => {
  const [person, other] = [await withPasskey(postern), await withPasskey(postern)];
  const { token: pendingToken, factors, passkeyOptions } = await pendingOf(postern, person);
  expect(factors).toEqual(["FACTOR_KIND_PASSKEY"]);
  expect(passkeyOptions.allowCredentials).toHaveLength(1);
  const complete = (passkey: object) => postern.as().post("/v1/sessions:complete", { pendingToken, passkey });
  expect(refused(await complete(other.key.get(passkeyOptions)))).toEqual(invalid);
  const session = done(await complete(person.key.get(passkeyOptions)));
  const [newest] = done(await postern.as(session.token).get("/v1/sessions")).sessions;
  expect(newest.amr).toEqual(["pwd", "hwk", "user", "mfa"]);
});

test("a lock stops the password and not the passkey", async () => {
  const { key, userId, username, password } = await withPasskey(postern);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update users set locked = true where user_id = ${userId}`;
  const byPassword = await postern.as().post("/v1/sessions", { loginName: username, password });
  expect(refused(byPassword)).toEqual([401, "SIGN_IN_FAILED"]);
  const { challengeToken, options } = await passkeyChallenge(postern);
  done(await present(challengeToken, key.get(options)));
});

const wrongPages: Readonly<Record<string, Page>> = {
  "of another origin": { origin: "https://identity.example.com.evil.example" },
  "of another relying party": { rpId: "evil.example" },
  "to another challenge": { challenge: Buffer.alloc(32).toString("base64url") },
  "that names another user": { userHandle: Buffer.alloc(64).toString("base64url") },
  "without verification of the user": { isVerified: false },
  "made in a frame of another origin": { crossOrigin: true },
  "whose counter did not go on": { counter: 1 },
};

test.each(Object.entries(wrongPages))("an answer %s is refused", async (_name, page) => {
  const { key } = await withPasskey(postern);
  const { challengeToken, options } = await passkeyChallenge(postern);
  expect(refused(await present(challengeToken, key.get(options, page)))).toEqual(invalid);
  done(await present(challengeToken, key.get(options, { counter: 9 })));
});

test("a counter that goes back is refused, and one that stays at nothing is not", async () => {
  const { key } = await withPasskey(postern);
  const ask = async (page: Page) => {
    const { challengeToken, options } = await passkeyChallenge(postern);
    return present(challengeToken, key.get(options, page));
  };
  done(await ask({ counter: 100 }));
  expect(refused(await ask({ counter: 100 }))).toEqual(invalid);
  expect(refused(await ask({ counter: 99 }))).toEqual(invalid);
  expect(refused(await ask({ counter: 0 }))).toEqual(invalid);
  done(await ask({ counter: 101 }));
  const [synced, person] = [authenticator({ isSynced: true }), await signedUp(postern)];
  await enrolPasskey(person.client, synced, { counter: 0 });
  for (let nth = 0; nth < 2; nth += 1) {
    const { challengeToken, options } = await passkeyChallenge(postern);
    done(await present(challengeToken, synced.get(options, { counter: 0 })));
  }
});

test("a challenge is answered once, also of ten answers at once through two nodes", async () => {
  const { key } = await withPasskey(postern);
  const { challengeToken, options } = await passkeyChallenge(postern);
  const credential = key.get(options, { counter: 5 });
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, nth) => present(challengeToken, credential, nodes.through(nth))),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(refused(await present(challengeToken, key.get(options, { counter: 6 })))).toEqual([400, "CHALLENGE_INVALID"]);
});

test("two passkeys that answer one challenge at once make one session", async () => {
  for (let round = 0; round < 3; round += 1) {
    const [one, other] = [await withPasskey(postern), await withPasskey(postern)];
    const { challengeToken, options } = await passkeyChallenge(postern);
    const answers = await Promise.all([
      present(challengeToken, one.key.get(options), nodes.one),
      present(challengeToken, other.key.get(options), nodes.two),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  }
});

test("a challenge that was made elsewhere, or changed, is none", async () => {
  const { key } = await withPasskey(postern);
  const { challengeToken, options } = await passkeyChallenge(postern);
  const credential = key.get(options);
  const changed = `${challengeToken.slice(0, -4)}${challengeToken.endsWith("AAAA") ? "BBBB" : "AAAA"}`;
  for (const token of [changed, "x", "_".repeat(400), Buffer.alloc(90).toString("base64url")])
    expect(refused(await present(token, credential))).toEqual([400, "CHALLENGE_INVALID"]);
});

test("a challenge that nobody answers leaves nothing behind, and a wrong answer neither", async () => {
  await using probe = openProbe(postern.databaseUrl);
  const countOf = async () => (await probe.sql`select count(*) from spent_challenges`)[0]?.count;
  const before = await countOf();
  const { challengeToken, options } = await passkeyChallenge(postern);
  expect(refused(await present(challengeToken, authenticator().get(options)))).toEqual(invalid);
  expect(await countOf()).toBe(before);
});

test("a user who was deactivated, or whose passkey was removed, does not sign in with it", async () => {
  const [person, other] = [await withPasskey(postern), await withPasskey(postern)];
  done(await postern.admin.post(`/v1/users/${person.userId}:deactivate`));
  done(await postern.admin.delete(`/v1/users/${other.userId}/factors/${other.factorId}`));
  for (const { key } of [person, other]) {
    const { challengeToken, options } = await passkeyChallenge(postern);
    expect(refused(await present(challengeToken, key.get(options)))).toEqual(invalid);
  }
});

const enrolment = "/v1/users/me/factors";

test.each([
  ["of another origin", { origin: "https://evil.example" }],
  ["of another relying party", { rpId: "evil.example" }],
  ["to another challenge", { challenge: Buffer.alloc(32).toString("base64url") }],
  ["without verification of the user", { isVerified: false }],
  ["made in a frame", { crossOrigin: true }],
] as const)("a new passkey %s is refused", async (_name, page) => {
  const { client } = await signedUp(postern);
  const { options } = done(await client.post(`${enrolment}:startPasskey`));
  const credential = authenticator().create(options, page);
  expect(refused(await client.post(`${enrolment}:confirmPasskey`, { credential }))).toEqual(invalid);
  const good = authenticator().create(options);
  done(await client.post(`${enrolment}:confirmPasskey`, { credential: good, name: "Key" }));
  expect(refused(await client.post(`${enrolment}:confirmPasskey`, { credential: good }))).toEqual([
    400,
    "ENROLMENT_EXPIRED",
  ]);
});

test("a challenge of an enrolment is no challenge of another user's, and one credential is enrolled once", async () => {
  const [one, other] = [await signedUp(postern), await signedUp(postern)];
  const key = authenticator();
  await enrolPasskey(one.client, key);
  const { options } = done(await one.client.post(`${enrolment}:startPasskey`));
  done(await other.client.post(`${enrolment}:startPasskey`));
  const foreign = await other.client.post(`${enrolment}:confirmPasskey`, { credential: key.create(options) });
  expect(refused(foreign)).toEqual(invalid);
  const twice = await one.client.post(`${enrolment}:confirmPasskey`, { credential: key.create(options) });
  expect(refused(twice)).toEqual(invalid);
});

test("an attestation with certificates is refused, as nobody asked for one", async () => {
  const { client } = await signedUp(postern);
  const { options } = done(await client.post(`${enrolment}:startPasskey`));
  const credential = authenticator({ attestation: "packed" }).create(options);
  expect(refused(await client.post(`${enrolment}:confirmPasskey`, { credential }))).toEqual(invalid);
});

const strange = [
  {},
  { id: 1, rawId: {}, type: "public-key", response: [] },
  {
    id: "AAAA",
    rawId: "AAAA",
    type: "public-key",
    response: { clientDataJSON: "e30", authenticatorData: "", signature: "" },
  },
  {
    id: "AAAA",
    rawId: "AAAA",
    type: "public-key",
    response: { clientDataJSON: "bnVsbA", attestationObject: "gYGBgYGBgYE" },
  },
  {
    id: "AAAA",
    rawId: "AAAA",
    type: "public-key",
    response: { clientDataJSON: "e30", attestationObject: "g".repeat(9000) },
  },
  { id: "____".repeat(400), response: { userHandle: "x" } },
];

test.each(strange.map((credential, nth) => ({ credential, nth })))(
  "bytes from anywhere prove nothing ($nth)",
  async ({ credential }) => {
    const { challengeToken } = await passkeyChallenge(postern);
    expect(refused(await present(challengeToken, credential))).toEqual(invalid);
    const { client } = await signedUp(postern);
    done(await client.post(`${enrolment}:startPasskey`));
    expect(refused(await client.post(`${enrolment}:confirmPasskey`, { credential }))).toEqual(invalid);
    const person = await withTotp(postern);
    const { token: pendingToken } = await pendingOf(postern, person);
    const completed = await postern.as().post("/v1/sessions:complete", { pendingToken, passkey: credential });
    expect(refused(completed)).toEqual(invalid);
  },
);

test("a signature of another key is refused", async () => {
  const { key } = await withPasskey(postern);
  const { challengeToken, options } = await passkeyChallenge(postern);
  const credential = key.get(options) as { response: Record<string, string> };
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signature = createSign("sha256").update("anything").sign(privateKey).toString("base64url");
  const forged = { ...credential, response: { ...credential.response, signature } };
  expect(refused(await present(challengeToken, forged))).toEqual(invalid);
});
