import type { Reason } from "../../src/reasons.ts";
import { authenticator, codeOf } from "../fixture/authenticator.ts";
import { enrolTotp, passkeyChallenge, pendingOf, withTotp, wrongCodeOf } from "../fixture/factors.ts";
import { organization, signedUp, startPostern } from "../harness.ts";
import { openProbe } from "../probe.ts";
import { issuerOf } from "../provider/application.ts";
import { atConsole } from "../provider/console.ts";
import { germanOf, type Row } from "./provocation.ts";

const factors = "/v1/users/me/factors";

/** The refusals about factors beside the password. */
export const factorRows = {
  FACTOR_NOT_FOUND: {
    by: async ({ postern, germanAs }) =>
      germanAs((await signedUp(postern)).client.token).put(`${factors}/none/name`, { name: "Phone" }),
    details: ["ResourceInfo"],
  },
  FACTOR_EXISTS: {
    by: async ({ postern, germanAs }) => germanAs((await withTotp(postern)).client.token).post(`${factors}:startTotp`),
  },
  FACTOR_LIMIT: {
    async by({ postern, germanAs }) {
      const { userId, client } = await signedUp(postern);
      await using probe = openProbe(postern.databaseUrl);
      await probe.sql`
        insert into factors (owner, factor_id, user_id, kind, name, is_synced, version, created, changed)
        select ${postern.organizationId}, ${userId} || n, ${userId}, 'passkey', '', false, 1, now(), now()
        from generate_series(1, 20) n`;
      await probe.sql`update sessions set amr = '{hwk,user,mfa}' where user_id = ${userId}`;
      return germanAs(client.token).post(`${factors}:startPasskey`);
    },
  },
  FACTOR_MISSING: {
    by: async ({ postern, germanAs }) =>
      germanAs((await signedUp(postern)).client.token).post(`${factors}:generateRecoveryCodes`),
  },
  FACTORS_OFF: {
    async by({ postern, admin, germanAs }) {
      const organizationId = await organization(postern);
      const policy = { requirement: "FACTOR_REQUIREMENT_OFF" };
      await admin.put("/v1/policies/factor", { policy }, { "x-service-orgid": organizationId });
      const { client } = await signedUp(postern, { organizationId });
      return germanAs(client.token).post(`${factors}:startTotp`);
    },
  },
  FACTOR_ENROLMENT_REQUIRED: {
    async by({ postern, admin, germanAs }) {
      const organizationId = await organization(postern);
      const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
      await admin.put("/v1/policies/factor", { policy }, { "x-service-orgid": organizationId });
      const { client } = await signedUp(postern, { organizationId });
      return germanAs(client.token).get("/v1/users/me");
    },
  },
  FACTOR_ATTEMPTS: {
    async by({ postern, germanAs }) {
      const person = await withTotp(postern);
      const { token: pendingToken } = await pendingOf(postern, person);
      const answer = (totpCode: string) => germanAs().post("/v1/sessions:complete", { pendingToken, totpCode });
      for (let nth = 0; nth < 5; nth += 1) await answer(wrongCodeOf(person.secret));
      return answer(person.code());
    },
    details: ["RetryInfo"],
  },
  PASSKEY_HOST: {
    async by() {
      await using other = await startPostern({ publicUrl: "https://192.0.2.1" });
      const { client } = await signedUp(other);
      return await germanOf(client).post(`${factors}:startPasskey`);
    },
  },
  ENROLMENT_EXPIRED: {
    async by({ postern, germanAs }) {
      const { userId, client } = await signedUp(postern);
      const { secret } = (await client.post(`${factors}:startTotp`)).body;
      await using probe = openProbe(postern.databaseUrl);
      await probe.sql`update factor_enrolments set expiration_date = now() where user_id = ${userId}`;
      return germanAs(client.token).post(`${factors}:confirmTotp`, { code: codeOf(secret) });
    },
  },
  OWN_ACCOUNT_IN_CONSOLE: {
    async by({ postern, germanAs }) {
      const { token } = await atConsole(postern.url, issuerOf(postern), await signedUp(postern));
      return germanAs(token).post("/v1/users/me/tokens");
    },
  },
  SIGN_IN_NOT_FRESH: {
    async by({ postern, germanAs }) {
      const { userId, client } = await signedUp(postern);
      const { factorId } = await enrolTotp(client);
      await using probe = openProbe(postern.databaseUrl);
      await probe.sql`update sessions set created = created - interval '1 hour' where user_id = ${userId}`;
      return germanAs(client.token).delete(`${factors}/${factorId}`);
    },
  },
  CHALLENGE_INVALID: {
    by: ({ germanAs }) => germanAs().post("/v1/sessions:complete", { pendingToken: "none", totpCode: "123456" }),
    details: ["BadRequest"],
  },
  PASSKEY_INVALID: {
    async by({ postern, germanAs }) {
      const { challengeToken, options } = await passkeyChallenge(postern);
      const credential = authenticator().get(options);
      return germanAs().post("/v1/sessions/passkey", { challengeToken, credential });
    },
    details: ["BadRequest"],
  },
} as const satisfies Partial<Record<Reason, Row>>;
