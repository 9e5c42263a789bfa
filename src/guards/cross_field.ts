import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Call } from "../deps.ts";
import { type MessageRule, refuseAny } from "../errors.ts";

/**
 * Enforces the declared rules of a request as a whole right before its handler. Not earlier: a rule that asks the clock must not
 * refuse a request that an idempotency record answers.
 */
export function crossFieldRules<A>(
  { input }: DescMethod,
  declared: readonly MessageRule[],
  handler: (request: Message, call: Call) => A,
): (request: Message, call: Call) => A {
  const rules = declared.filter(({ type }) => type === input);
  if (rules.length === 0) return handler;
  return (request, call) => {
    refuseAny(rules.flatMap((rule) => rule.broken(request)));
    return handler(request, call);
  };
}
