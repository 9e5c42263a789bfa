import type { Deps } from "../../../src/deps.ts";
import { expiredRegistrations } from "../../../src/services/registrations/registration_chores.ts";
import { organization, type Postern, signedUp } from "../../harness.ts";
import type { HandlerCall } from "../../sent_statements.ts";
import { codeTo, done, newAddress } from "../invitations/invited.ts";

/** What somebody new says about themselves. */
export const newcomer = { givenName: "Grace", familyName: "Hopper", password: "Green-Teapot-77" };

export const allow = async (postern: Postern, organizationId: string, audience: string): Promise<void> => {
  const policy = { audience: `REGISTRATION_AUDIENCE_${audience}` };
  done(await postern.admin.put("/v1/policies/registration", { policy }, { "x-service-orgid": organizationId }));
};

/** A new organization in which these people may register. */
export async function registering(postern: Postern, audience = "EVERYBODY"): Promise<string> {
  const organizationId = await organization(postern);
  await allow(postern, organizationId, audience);
  return organizationId;
}

type Asked = { readonly organizationId: string; readonly email: string };

export const askToRegister = async (postern: Postern, asked: Asked) =>
  done(await postern.as().post("/v1/registrations", asked));

/** Asks to register; answers the code in the newest of so many mails. */
export async function codeOfRegistration(postern: Postern, asked: Asked, count = 1): Promise<string> {
  await askToRegister(postern, asked);
  return codeTo(postern, asked.email, { count });
}

/** Registrations that ended in each way, one that was asked for again and stays, and one with the address of a user. */
export async function registrationsComeAndGo(postern: Postern, deps: Deps): Promise<void> {
  const organizationId = await registering(postern);
  const ask = async (email = newAddress(), count = 1) => ({
    email,
    code: await codeOfRegistration(postern, { organizationId, email }, count),
  });
  const { code } = await ask();
  done(await postern.as().post("/v1/registrations:complete", { ...newcomer, code }));
  await ask();
  await deps.sql`update registrations set expiration_date = now() - interval '1 minute'`;
  await expiredRegistrations(deps).batch(1000);
  await ask((await ask()).email, 2);
  const { username } = await signedUp(postern, { organizationId });
  await askToRegister(postern, { organizationId, email: `${username}@example.com` });
  done(await postern.admin.delete("/v1/policies/registration", { "x-service-orgid": organizationId }));
}

/** Requests of somebody new, of one who asks again and of a user, and what completes one. */
export async function registrationCalls(postern: Postern): Promise<Readonly<Record<string, readonly HandlerCall[]>>> {
  const organizationId = await registering(postern);
  const { username } = await signedUp(postern, { organizationId });
  const [email, other] = [newAddress(), newAddress()];
  const code = await codeOfRegistration(postern, { organizationId, email });
  const asked = [other, email, `${username}@example.com`].map((one) => ({ request: { organizationId, email: one } }));
  return {
    "RegistrationService.RequestRegistration": asked,
    "RegistrationService.CompleteRegistration": [{ request: { ...newcomer, code } }],
  };
}
