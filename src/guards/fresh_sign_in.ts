import type { Message } from "@bufbuild/protobuf";
import { type Caller, callerOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { fieldOf, textOf } from "./field.ts";
import type { Step } from "./interceptor.ts";
import type { Rule } from "./rule.ts";

/** Requires people to have signed in recently to change their own account, or others where the rpc says so: a token alone is not proof. */
export function freshSignIn({ method, option, lookups }: Omit<Rule, "permission">): Step {
  const { input } = method;
  const isAsked: (request: Message) => boolean = option.freshSignInWhen
    ? booleanOf(fieldOf(input, option.freshSignInWhen))
    : () => true;
  const named = option.user ? textOf(input, option.user) : undefined;
  return async (request, call) => {
    if (!isAsked(request)) return;
    const caller = callerOf(call);
    const isOwn = named !== undefined && [caller.userId, ""].includes(named(request));
    const isForOthers = named !== undefined && !isOwn;
    if (isForOthers && !option.freshForOthers && !option.freshOrTokenForOthers) return;
    const tokenStandsIn = isForOthers ? option.freshOrTokenForOthers : option.tokenStandsIn;
    if (caller.tokenId && tokenStandsIn) return;
    const sessionId = sessionOf(caller, tokenStandsIn && !isOwn);
    if (!(await lookups.signedInFreshly({ userId: caller.userId, sessionId })))
      throw refuse.because("SIGN_IN_NOT_FRESH");
  };
}

const booleanOf = (read: (request: Message) => unknown) => (request: Message) => read(request) === true;

/** The session whose sign-in counts. An application keeps its tokens for long, so they never stand for their user's own sign-in. */
const sessionOf = ({ sessionId, consoleSessionId, application }: Caller, countsOfApplication: boolean) =>
  sessionId ?? consoleSessionId ?? (countsOfApplication ? application?.sessionId : undefined);
