import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { MessageRule } from "../rules.ts";
import { brokenInSteps } from "./batch_rules.ts";
import type { Step } from "./interceptor.ts";
import { type LateViolations, refuseTogether } from "./late_rules.ts";

/**
 * Enforces the cross-field rules of a request right before its handler. Not earlier, because a rule that reads the clock must not refuse a
 * request that an idempotency record answers.
 */
export function crossFieldRules({ input }: DescMethod, declared: readonly MessageRule[], late?: LateViolations): Step {
  const rules = declared.filter(({ type }) => type === input);
  if (rules.length === 0) return () => {};
  const find = rules.some(({ steps }) => steps)
    ? (request: Message) => brokenInSteps(rules, request)
    : (request: Message) => rules.flatMap((rule) => rule.broken(request));
  return refuseTogether(input, find, late);
}
