import type { JsonObject } from "@bufbuild/protobuf";
import type { Reason } from "../../src/reasons.ts";
import { authenticator } from "../fixture/authenticator.ts";
import { factorWrite, passkeyChallenge, pendingOf, withPasskey, withTotp, wrongCodeOf } from "../fixture/factors.ts";
import { askedByMail, proveEmail, setMailCodes, withMailbox } from "../fixture/sign_in_mail.ts";
import { type Client, organization } from "../harness.ts";
import { openProbe } from "../probe.ts";
import { made, malformed, person, type Scene, type Stage, within } from "./stage.ts";

type FactorCall = { readonly request: JsonObject; readonly by?: Client; readonly see?: () => Promise<unknown> };

const scene = (
  rpc: string,
  name: string,
  says: Scene["says"],
  given: (stage: Stage) => FactorCall | Promise<FactorCall>,
): Scene => ({ rpc, name, says, given });

const wrong = (
  rpc: string,
  name: string,
  { says, fields }: { says: Reason; fields: string[] },
  given: (stage: Stage) => FactorCall | Promise<FactorCall>,
): Scene => ({ rpc, name, says, fields, given });

const factorsOf = (client: Client) => async () => (await client.get("/v1/users/me/factors")).body.factors;

/** A write about factors of somebody new, with a look at what came of it. */
async function granted({ postern }: Stage, rpc: string): Promise<FactorCall> {
  const { client, request } = await factorWrite(postern, rpc);
  return { request: request as JsonObject, by: client, see: factorsOf(client) };
}

const writes = ["StartTotp", "ConfirmTotp", "StartPasskey", "ConfirmPasskey", "GenerateRecoveryCodes", "RenameFactor"];

/** Somebody whose sign-in was an hour ago. */
async function staleOne(stage: Stage) {
  const somebody = await withTotp(stage.postern, stage.fixture);
  await using probe = openProbe(stage.postern.databaseUrl);
  await probe.sql`update sessions set created = created - interval '1 hour' where user_id = ${somebody.userId}`;
  return somebody;
}

/** A person without a factor where one is required, signed in. */
async function narrowOne({ postern, admin }: Stage): Promise<Client> {
  const organizationId = await organization(postern);
  const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
  await admin.put("/v1/policies/factor", { policy }, within(organizationId));
  const { client } = await person({ postern, fixture: { organizationId } } as Stage);
  return client;
}

const enrolmentScenes: readonly Scene[] = [
  ...writes.map((rpc) => scene(`FactorService.${rpc}`, "does it", "OK", (stage) => granted(stage, rpc))),
  ...["StartTotp", "StartPasskey", "GenerateRecoveryCodes"].map((rpc) =>
    scene(`FactorService.${rpc}`, "without a token", "UNAUTHENTICATED", ({ postern }) => ({
      request: {},
      by: postern.as(),
    })),
  ),
  scene("FactorService.StartTotp", "of a machine", "USER_NOT_HUMAN", ({ stranger }) => ({ request: {}, by: stranger })),
  scene("FactorService.StartTotp", "of one who has an app", "FACTOR_EXISTS", async ({ postern, fixture }) => ({
    request: {},
    by: (await withTotp(postern, fixture)).client,
  })),
  scene("FactorService.StartTotp", "of one who has to", "OK", async (stage) => ({
    request: {},
    by: await narrowOne(stage),
  })),
  scene("FactorService.GenerateRecoveryCodes", "with nothing else", "FACTOR_MISSING", async (stage) => ({
    request: {},
    by: (await person(stage)).client,
  })),
  scene("FactorService.GenerateRecoveryCodes", "long after the sign-in", "SIGN_IN_NOT_FRESH", async (stage) => ({
    request: {},
    by: (await staleOne(stage)).client,
  })),
  scene("AccountService.GetMe", "of one who has to enrol a factor", "FACTOR_ENROLMENT_REQUIRED", async (stage) => ({
    request: {},
    by: await narrowOne(stage),
  })),
  wrong(
    "FactorService.ConfirmTotp",
    "a code of another time",
    { says: "CODE_INVALID", fields: ["code"] },
    async (stage) => {
      const { client } = await person(stage);
      const { secret } = await made(client, "/v1/users/me/factors:startTotp", {});
      return { request: { code: wrongCodeOf(secret) }, by: client, see: factorsOf(client) };
    },
  ),
  scene("FactorService.ConfirmTotp", "what never began", "ENROLMENT_EXPIRED", async (stage) => ({
    request: { code: "123456" },
    by: (await person(stage)).client,
  })),
  wrong(
    "FactorService.ConfirmTotp",
    "without a code",
    { says: "VALIDATION_FAILED", fields: ["code"] },
    async (stage) => ({ request: { code: " " }, by: (await person(stage)).client }),
  ),
  wrong(
    "FactorService.ConfirmPasskey",
    "of another origin",
    { says: "PASSKEY_INVALID", fields: ["credential"] },
    async (stage) => {
      const { client } = await person(stage);
      const { options } = await made(client, "/v1/users/me/factors:startPasskey", {});
      const credential = authenticator({ origin: "https://evil.example" }).create(options) as JsonObject;
      return { request: { credential }, by: client, see: factorsOf(client) };
    },
  ),
  wrong(
    "FactorService.ConfirmPasskey",
    "without a credential",
    { says: "VALIDATION_FAILED", fields: ["credential"] },
    async (stage) => ({ request: {}, by: (await person(stage)).client }),
  ),
  scene("FactorService.RenameFactor", "one that is not there", "FACTOR_NOT_FOUND", async (stage) => ({
    request: { userId: "me", factorId: "none", name: "Phone" },
    by: (await person(stage)).client,
  })),
  scene("FactorService.ListFactors", "one's own", "OK", async ({ postern, fixture }) => ({
    request: { userId: "me" },
    by: (await withTotp(postern, fixture)).client,
  })),
  scene("FactorService.ListFactors", "somebody's", "OK", async ({ fixture, viewer }) => ({
    request: { userId: (await fixture.newFactor()).userId },
    by: viewer,
  })),
  scene("FactorService.ListFactors", "of nobody", "USER_NOT_FOUND", () => ({ request: { userId: "none" } })),
  scene("FactorService.RemoveFactor", "of somebody who lost it", "OK", async ({ fixture }) => ({
    request: await fixture.newFactor(),
  })),
  scene("FactorService.RemoveFactor", "one that is not there", "FACTOR_NOT_FOUND", async ({ fixture }) => ({
    request: { ...(await fixture.newFactor()), factorId: "none" },
  })),
  scene("FactorService.RemoveFactor", "one's own, long after the sign-in", "SIGN_IN_NOT_FRESH", async (stage) => {
    const { client, userId, factorId } = await staleOne(stage);
    return { request: { userId, factorId }, by: client, see: factorsOf(client) };
  }),
];

const nobody = ({ postern }: Stage) => postern.as();

const signInScenes: readonly Scene[] = [
  scene("SessionService.CreateSession", "of one with an app: what is still asked for", "OK", async (stage) => {
    const { username: loginName, password } = await withTotp(stage.postern, stage.fixture);
    return { request: { loginName, password }, by: nobody(stage) };
  }),
  scene("SessionService.CreateSession", "of one with a passkey: what is still asked for", "OK", async (stage) => {
    const { username: loginName, password } = await withPasskey(stage.postern, stage.fixture);
    return { request: { loginName, password }, by: nobody(stage) };
  }),
  scene("SessionService.CompleteSession", "with a code", "OK", async (stage) => {
    const somebody = await withTotp(stage.postern, stage.fixture);
    const { token: pendingToken } = await pendingOf(stage.postern, somebody);
    return { request: { pendingToken, totpCode: somebody.code() }, by: nobody(stage) };
  }),
  scene("SessionService.CompleteSession", "with a recovery code", "OK", async (stage) => {
    const somebody = await withTotp(stage.postern, stage.fixture);
    const { codes } = await made(somebody.client, "/v1/users/me/factors:generateRecoveryCodes", {});
    const { token: pendingToken } = await pendingOf(stage.postern, somebody);
    const see = factorsOf(somebody.client);
    return { request: { pendingToken, recoveryCode: codes[0] }, by: nobody(stage), see };
  }),
  scene("SessionService.CompleteSession", "with a passkey", "OK", async (stage) => {
    const somebody = await withPasskey(stage.postern, stage.fixture);
    const { token: pendingToken, passkeyOptions } = await pendingOf(stage.postern, somebody);
    return { request: { pendingToken, passkey: somebody.key.get(passkeyOptions) as JsonObject }, by: nobody(stage) };
  }),
  wrong(
    "SessionService.CompleteSession",
    "with a wrong code",
    { says: "CODE_INVALID", fields: ["totpCode"] },
    async (stage) => {
      const somebody = await withTotp(stage.postern, stage.fixture);
      const { token: pendingToken } = await pendingOf(stage.postern, somebody);
      return { request: { pendingToken, totpCode: wrongCodeOf(somebody.secret) }, by: nobody(stage) };
    },
  ),
  wrong(
    "SessionService.CompleteSession",
    "with a recovery code of nobody",
    { says: "CODE_INVALID", fields: ["recoveryCode"] },
    async (stage) => {
      const { token: pendingToken } = await pendingOf(stage.postern, await withTotp(stage.postern, stage.fixture));
      return { request: { pendingToken, recoveryCode: "BCDFG-HJKMN" }, by: nobody(stage) };
    },
  ),
  wrong(
    "SessionService.CompleteSession",
    "after too many wrong codes",
    { says: "FACTOR_ATTEMPTS", fields: [] },
    async (stage) => {
      const somebody = await withTotp(stage.postern, stage.fixture);
      const { token: pendingToken } = await pendingOf(stage.postern, somebody);
      await using probe = openProbe(stage.postern.databaseUrl);
      await probe.sql`insert into factor_attempts values (${somebody.userId}, 5, now() + interval '15 minutes')`;
      return { request: { pendingToken, totpCode: somebody.code() }, by: nobody(stage) };
    },
  ),
  wrong(
    "SessionService.CompleteSession",
    "one that never began",
    { says: "CHALLENGE_INVALID", fields: ["pendingToken"] },
    (stage) => ({ request: { pendingToken: "none", totpCode: "123456" }, by: nobody(stage) }),
  ),
  wrong(
    "SessionService.CompleteSession",
    "without an answer",
    { says: "VALIDATION_FAILED", fields: ["answer", "pendingToken"] },
    (stage) => ({ request: {}, by: nobody(stage) }),
  ),
  scene("SessionService.StartPasskeySession", "begins", "OK", (stage) => ({ request: {}, by: nobody(stage) })),
  {
    ...{ rpc: "SessionService.StartPasskeySession", name: "with a field", says: "VALIDATION_FAILED" },
    ...{ fields: ["loginName"], not: { binary: "the binary format has no names" }, malformed: malformed.fields },
    given: (stage) => ({ request: {}, raw: { json: '{"loginName":"ada"}' }, by: nobody(stage) }),
  },
  scene("SessionService.StartMailSession", "by the name of somebody", "OK", async (stage) => ({
    request: { loginName: (await person(stage)).username },
    by: nobody(stage),
  })),
  scene("SessionService.StartMailSession", "by a name that nobody has", "OK", (stage) => ({
    request: { loginName: "nobody" },
    by: nobody(stage),
  })),
  wrong(
    "SessionService.StartMailSession",
    "without a name",
    { says: "VALIDATION_FAILED", fields: ["loginName"] },
    (stage) => ({ request: { loginName: " " }, by: nobody(stage) }),
  ),
  scene("SessionService.CreateMailSession", "with the code of the mail", "OK", async (stage) => {
    const { username: loginName, email } = await withMailbox(stage.postern, stage.fixture);
    return { request: await askedByMail(stage.postern, { loginName, email }), by: nobody(stage) };
  }),
  scene("SessionService.CreateMailSession", "of somebody with a factor", "OK", async (stage) => {
    const { userId, username: loginName } = await withTotp(stage.postern, stage.fixture);
    const email = `${loginName}@example.com`;
    await proveEmail(stage.postern, userId, email);
    await setMailCodes(stage.postern, stage.fixture.organizationId);
    return { request: await askedByMail(stage.postern, { loginName, email }), by: nobody(stage) };
  }),
  wrong(
    "SessionService.CreateMailSession",
    "with another code",
    { says: "CODE_INVALID", fields: ["verificationCode"] },
    async (stage) => {
      const { challengeToken } = await made(stage.postern.as(), "/v1/sessions/mail:start", { loginName: "nobody" });
      return { request: { challengeToken, verificationCode: "2345-6789" }, by: nobody(stage) };
    },
  ),
  wrong(
    "SessionService.CreateMailSession",
    "with a token that is none",
    { says: "CHALLENGE_INVALID", fields: ["challengeToken"] },
    (stage) => ({ request: { challengeToken: "none", verificationCode: "2345-6789" }, by: nobody(stage) }),
  ),
  wrong(
    "SessionService.CreateMailSession",
    "without anything",
    { says: "VALIDATION_FAILED", fields: ["challengeToken", "verificationCode"] },
    (stage) => ({ request: {}, by: nobody(stage) }),
  ),
  scene("SessionService.CreatePasskeySession", "of its user", "OK", async (stage) => {
    const { key } = await withPasskey(stage.postern, stage.fixture);
    const { challengeToken, options } = await passkeyChallenge(stage.postern);
    return { request: { challengeToken, credential: key.get(options) as JsonObject }, by: nobody(stage) };
  }),
  wrong(
    "SessionService.CreatePasskeySession",
    "of nobody",
    { says: "PASSKEY_INVALID", fields: ["credential"] },
    async (stage) => {
      const { challengeToken, options } = await passkeyChallenge(stage.postern);
      return { request: { challengeToken, credential: authenticator().get(options) as JsonObject }, by: nobody(stage) };
    },
  ),
  wrong(
    "SessionService.CreatePasskeySession",
    "without anything",
    { says: "VALIDATION_FAILED", fields: ["challengeToken", "credential"] },
    (stage) => ({ request: {}, by: nobody(stage) }),
  ),
];

/** An organization of its own with a policy, or without one. */
async function place({ postern, admin }: Stage, requirement?: string) {
  const headers = within(await organization(postern));
  if (requirement) await admin.put("/v1/policies/factor", { policy: { requirement } }, headers);
  return { headers, see: async () => (await admin.get("/v1/policies/factor", headers)).body };
}

const policyScenes: readonly Scene[] = [
  {
    rpc: "PolicyService.GetFactorPolicy",
    name: "built in",
    says: "OK",
    given: async (s) => ({ request: {}, ...(await place(s)) }),
  },
  {
    ...{ rpc: "PolicyService.GetFactorPolicy", name: "of another organization", says: "PERMISSION_DENIED" },
    given: ({ stranger, strict }) => ({ request: {}, by: stranger, headers: within(strict) }),
  },
  {
    ...{ rpc: "PolicyService.SetFactorPolicy", name: "sets it", says: "OK" },
    given: async (stage) => ({
      request: { policy: { requirement: "FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS" } },
      ...(await place(stage)),
    }),
  },
  {
    ...{ rpc: "PolicyService.SetFactorPolicy", name: "as it is", says: "OK" },
    given: async (stage) => ({
      request: { policy: { requirement: "FACTOR_REQUIREMENT_OFF" } },
      ...(await place(stage, "FACTOR_REQUIREMENT_OFF")),
    }),
  },
  {
    ...{ rpc: "PolicyService.SetFactorPolicy", name: "without one", says: "VALIDATION_FAILED", fields: ["policy"] },
    given: async (stage) => ({ request: {}, ...(await place(stage)) }),
  },
  {
    ...{
      rpc: "PolicyService.SetFactorPolicy",
      name: "to nothing",
      says: "VALIDATION_FAILED",
      fields: ["policy.requirement"],
    },
    given: async (stage) => ({ request: { policy: {} }, ...(await place(stage)) }),
  },
  {
    ...{ rpc: "PolicyService.ResetFactorPolicy", name: "removes it", says: "OK" },
    given: async (stage) => ({ request: {}, ...(await place(stage, "FACTOR_REQUIREMENT_REQUIRED")) }),
  },
  {
    ...{ rpc: "PolicyService.ResetFactorPolicy", name: "by somebody else", says: "PERMISSION_DENIED" },
    given: ({ stranger }) => ({ request: {}, by: stranger }),
  },
];

/** Every way in which a call about factors can end. */
export const factorScenes: readonly Scene[] = [...enrolmentScenes, ...signInScenes, ...policyScenes];
