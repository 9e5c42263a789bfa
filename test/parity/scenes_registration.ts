import { newAddress } from "../services/invitations/invited.ts";
import { codeOfRegistration, newcomer, registering } from "../services/registrations/registering.ts";
import type { Scene, Stage } from "./stage.ts";

const [ask, complete] = ["RegistrationService.RequestRegistration", "RegistrationService.CompleteRegistration"];

const asked =
  (audience: string) =>
  async ({ postern }: Stage) => ({
    request: { organizationId: await registering(postern, audience), email: newAddress() },
    by: postern.as(),
    headers: {},
  });

const completed =
  (more: object) =>
  async ({ postern }: Stage) => {
    const of = { organizationId: await registering(postern), email: newAddress() };
    const code = await codeOfRegistration(postern, of);
    return { request: { ...newcomer, code, ...more }, by: postern.as(), headers: {} };
  };

/** Requests to register, and what their codes do. */
export const registrationScenes: readonly Scene[] = [
  { rpc: ask, name: "answers", says: "OK", given: asked("EVERYBODY") },
  { rpc: ask, name: "of a domain that is not proven", says: "REGISTRATION_DOMAIN", given: asked("PROVEN_DOMAINS") },
  { rpc: ask, name: "where nobody may", says: "REGISTRATION_CLOSED", given: asked("NOBODY") },
  { rpc: complete, name: "answers", says: "OK", given: completed({}) },
  { rpc: complete, name: "with a code of nobody", says: "CODE_INVALID", given: completed({ code: "none" }) },
  {
    ...{ rpc: complete, name: "with somebody else's address for a name", says: "VALIDATION_FAILED" },
    ...{ fields: ["username"], given: completed({ username: "boss@example.com" }) },
  },
];
