import type { DescMethod } from "@bufbuild/protobuf";
import { type MessageRule, refuseAny } from "../errors.ts";
import type { Step } from "./around.ts";

/**
 * Enforces the cross-field rules of a request right before its handler. Not earlier: a rule that reads the clock must not
 * refuse a request that an idempotency record answers.
 */
export function crossFieldRules({ input }: DescMethod, declared: readonly MessageRule[]): Step {
  const rules = declared.filter(({ type }) => type === input);
  return (request) => refuseAny(rules.flatMap((rule) => rule.broken(request)));
}
