import { callerOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { textOf } from "./field.ts";
import type { Step } from "./interceptor.ts";
import type { Rule } from "./rule.ts";

/** Requires people to have signed in recently to change their own account, or others where the rpc says so: a token alone is not proof. */
export function freshSignIn({ method, option, lookups }: Omit<Rule, "permission">): Step {
  const named = option.user ? textOf(method.input, option.user) : () => "";
  return async (request, call) => {
    const caller = callerOf(call);
    const isOwn = [caller.userId, ""].includes(named(request));
    if (caller.tokenId && option.tokenStandsIn) return;
    if ((isOwn || option.freshForOthers) && !(await lookups.signedInFreshly(caller)))
      throw refuse.because("SIGN_IN_NOT_FRESH");
  };
}
