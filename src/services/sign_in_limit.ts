import { createHash } from "node:crypto";
import { type Call, keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import type { MakeFailureRate } from "../security/failure_rate.ts";

/** How many sign-ins may fail within a minute on this node; 0 sets no limit. */
export type SignInLimits = {
  readonly signInFailuresPerNamePerMinute: number;
  readonly signInFailuresPerAddressPerMinute: number;
};

/** A sign-in that is about to be tried. */
type SignIn = { readonly loginName: string; readonly call: Call };

/**
 * Slows sign-ins down after failed ones, by login name and by the network they come from. It knows no user: a login name that
 * nobody has is slowed down like any other.
 */
export function signInLimit(limits: SignInLimits, failureRate: MakeFailureRate) {
  const ofName = failureRate("sign-ins by name", limits.signInFailuresPerNamePerMinute);
  const ofNetwork = failureRate("sign-ins by address", limits.signInFailuresPerAddressPerMinute);

  return async <T extends { readonly is: string }>(
    { loginName, call }: SignIn,
    attempt: () => Promise<T>,
  ): Promise<T> => {
    const name = digestOf(loginName);
    const network = call.values.get(keys.network);
    const began = performance.now();
    const waitMs = Math.max(ofName.waitMs(name, began), network === undefined ? 0 : ofNetwork.waitMs(network, began));
    if (waitMs > 0) throw refuse.because("PASSWORD_ATTEMPTS", { retrySeconds: Math.ceil(waitMs / 1000) });
    // A network counts the sign-ins under way, or as many as there is room for would be tried at once.
    if (network !== undefined) ofNetwork.count(network, began);
    let failed = false;
    try {
      const outcome = await attempt();
      failed = outcome.is !== "right";
      return outcome;
    } finally {
      if (failed) ofName.count(name, performance.now());
      else if (network !== undefined) ofNetwork.uncount(network, performance.now());
    }
  };
}

// Names of one length, however long they were: 100,000 of them take some 20 MB.
const digestOf = (loginName: string): string => createHash("sha256").update(loginName).digest("base64url").slice(0, 22);
