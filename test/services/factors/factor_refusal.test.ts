import { afterAll, beforeAll, expect, test } from "vitest";
import { errorText } from "../../../src/messages/catalogue.ts";
import { authenticator } from "../../fixture/authenticator.ts";
import { passkeyChallenge, pendingOf, withPasskey, withTotp, wrongCodeOf } from "../../fixture/factors.ts";
import { type Answer, type Postern, signedUp, startPostern } from "../../harness.ts";
import { openProbe } from "../../probe.ts";
import { refusalsOf } from "../../provider/passkey_page.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern({ publicUrl: "https://identity.example.com" });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const reasonOf = ({ body }: Answer) => body.details?.[0]?.reason;
const complete = (request: object) => postern.as().post("/v1/sessions:complete", request);

/** A person who waits after five wrong codes, with the sign-in that is open. */
async function waiting() {
  const person = await withTotp(postern);
  const { token: pendingToken } = await pendingOf(postern, person);
  for (let nth = 0; nth < 5; nth += 1) await complete({ pendingToken, totpCode: wrongCodeOf(person.secret) });
  expect(reasonOf(await complete({ pendingToken, totpCode: person.code() }))).toBe("FACTOR_ATTEMPTS");
  return { ...person, pendingToken };
}

test("each wrong code is a fact, and the one that began a wait says until when", async () => {
  const { factorId, userId } = await waiting();
  const [fifth, ...others] = await refusalsOf(postern, factorId, 5);
  const reason = "FACTOR_REFUSAL_CODE";
  expect(fifth).toEqual({ userId, reason, until: expect.stringMatching(/^\d{4}-/) });
  expect(others).toEqual(Array.from({ length: 4 }, () => ({ userId, reason })));
});

test("a wrong recovery code is a fact of the codes", async () => {
  const person = await withTotp(postern);
  const { factorId } = (await person.client.post("/v1/users/me/factors:generateRecoveryCodes")).body;
  const { token: pendingToken } = await pendingOf(postern, person);
  expect(reasonOf(await complete({ pendingToken, recoveryCode: "AAAAA-AAAAA" }))).toBe("CODE_INVALID");
  expect(await refusalsOf(postern, factorId)).toMatchObject([{ reason: "FACTOR_REFUSAL_CODE" }]);
});

test("UnlockUser ends the wait after wrong codes, and the count begins anew", async () => {
  const person = await waiting();
  const { pendingToken, userId } = person;
  const unlocked = await postern.admin.post(`/v1/users/${userId}:unlock`);
  expect([unlocked.status, unlocked.body.details.sequence]).toEqual([200, "2"]);
  for (let nth = 0; nth < 4; nth += 1)
    expect(reasonOf(await complete({ pendingToken, totpCode: wrongCodeOf(person.secret) }))).toBe("CODE_INVALID");
  expect((await complete({ pendingToken, totpCode: person.code() })).status).toBe(200);
  const nothing = await postern.admin.post(`/v1/users/${userId}:unlock`);
  expect([nothing.status, nothing.body.details.sequence]).toEqual([200, "2"]);
});

test("answers that prove nothing do not fill the log: a few facts of a passkey are kept", async () => {
  const { key, factorId } = await withPasskey(postern);
  for (let nth = 0; nth < 30; nth += 1) {
    const { challengeToken, options } = await passkeyChallenge(postern);
    const credential = key.get(options, { origin: "https://evil.example" });
    expect(reasonOf(await postern.as().post("/v1/sessions/passkey", { challengeToken, credential }))).toBe(
      "PASSKEY_INVALID",
    );
  }
  expect(await refusalsOf(postern, factorId, 10)).toHaveLength(10);
  const { challengeToken, options } = await passkeyChallenge(postern);
  const unknown = authenticator().get(options);
  expect((await postern.as().post("/v1/sessions/passkey", { challengeToken, credential: unknown })).status).toBe(400);
});

test("a count that nobody signed is no sign of a copy", async () => {
  const { key, factorId } = await withPasskey(postern);
  const { challengeToken, options } = await passkeyChallenge(postern);
  const credential = key.get(options, { counter: 0 }) as { response: object };
  const forged = { ...credential, response: { ...credential.response, signature: "AAAA" } };
  await postern.as().post("/v1/sessions/passkey", { challengeToken, credential: forged });
  expect(await refusalsOf(postern, factorId)).toMatchObject([{ reason: "FACTOR_REFUSAL_PROOF" }]);
});

test.each(["https://192.0.2.1", "https://[2001:db8::1]", "http://127.0.0.1:8080"])(
  "with %s as PUBLIC_URL nobody begins to enrol a passkey, and the refusal says why",
  async (publicUrl) => {
    await using other = await startPostern({ publicUrl });
    const { client } = await signedUp(other);
    const refused = await client.post("/v1/users/me/factors:startPasskey");
    expect([refused.status, reasonOf(refused)]).toEqual([400, "PASSKEY_HOST"]);
    expect(refused.body.message).toBe(errorText("PASSKEY_HOST", { host: new URL(publicUrl).hostname }));
    expect((await client.post("/v1/users/me/factors:startTotp")).status).toBe(200);
  },
);

test("a passkey keeps the host that it is bound to", async () => {
  const { factorId } = await withPasskey(postern);
  await using probe = openProbe(postern.databaseUrl);
  expect(await probe.sql`select host from passkeys where factor_id = ${factorId}`).toEqual([
    { host: "identity.example.com" },
  ]);
});
