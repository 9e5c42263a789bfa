import { type At, factOf, type NewFact } from "../../events/fact.ts";

/** Makes the fact that a session ended with everything obtained through it. */
export const endedAt = (at: At, userId: string): NewFact => factOf("session", at, { case: "ended", value: { userId } });

/**
 * Makes the fact of a sign-out: everything that applications obtained through the session ends, except refresh tokens with
 * `offline_access`.
 */
export const signedOutAt = (at: At, userId: string): NewFact =>
  factOf("session", at, { case: "ended", value: { userId, keepsOffline: true } });
