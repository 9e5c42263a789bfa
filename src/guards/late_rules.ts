import { type DescMessage, type DescMethod, getOption, type Message } from "@bufbuild/protobuf";
import { access } from "../../gen/postern/v1/options_pb.ts";
import type { Call } from "../deps.ts";
import { isWithin, maxViolations, reasonOf, refuseAny, type Violation } from "../errors.ts";
import type { LateRule } from "../rules.ts";
import type { Step } from "./interceptor.ts";
import { outcomesOf } from "./item_outcomes.ts";
import type { Outages } from "./outage.ts";

/** Finds the violations of a request that need the database, in addition to those found without it. */
export type LateViolations = (made: MadeRequest, found: readonly Violation[]) => Promise<readonly Violation[]>;

type MadeRequest = { readonly request: Message; readonly call: Call };

/** The late rules of all requests, and the steps and predicates that guard them. */
export type LateOptions = {
  readonly rules: readonly LateRule<Call>[];
  /** The step that refuses callers without permission. */
  readonly allowed: (method: DescMethod) => Step;
  readonly outages: Outages;
};

/**
 * Makes the search for violations that need the database; undefined for an rpc without late rules. It only runs for requests that fail
 * anyway, and for callers with permission: other callers learn nothing about the database. The decoder refuses JSON with unreadable fields
 * before there is a message to search.
 */
export function lateViolations(method: DescMethod, options: LateOptions): LateViolations | undefined {
  const own = options.rules.filter(({ type }) => type === method.input);
  if (own.length === 0 || method.methodKind !== "unary") return undefined;
  const [allowed, deciding] = [options.allowed(method), fieldsOfAccess(method)];
  return async (made, found) => {
    if (found.length >= maxViolations) return [];
    const isWrong = (field: string) => found.some((one) => isWithin(one.field, field));
    // Permission lookups only receive ids that satisfy their field rules.
    const rules = deciding.some(isWrong) ? [] : own.filter(({ weighs }) => !weighs.some(isWrong));
    return rules.length === 0 ? [] : search(rules, { ...made, allowed, found }).catch(noneFor(options.outages));
  };
}

/**
 * Makes the step that refuses a request for the violations that `find` returns, together with late ones. Violations that only concern items
 * with outcomes are kept for those.
 */
export function refuseTogether(
  input: DescMessage,
  find: (request: Message) => readonly Violation[] | Promise<readonly Violation[]>,
  late?: LateViolations,
): Step {
  const keep = outcomesOf(input);
  return (request, call) => {
    const found = find(request);
    return found instanceof Promise ? found.then((all) => judge(all, request, call)) : judge(found, request, call);
  };

  function judge(found: readonly Violation[], request: Message, call: Call): Promise<void> | void {
    if (found.length === 0 || keep?.(found, request, call)) return undefined;
    if (!late) return refuseAny(found);
    return late({ request, call }, found).then((more) => refuseAny([...found, ...more]));
  }
}

type Search = MadeRequest & { readonly allowed: Step; readonly found: readonly Violation[] };

async function search(
  rules: readonly LateRule<Call>[],
  { request, call, allowed, found }: Search,
): Promise<Violation[]> {
  await allowed(request, call);
  const violations: Violation[] = [];
  for (const rule of rules) violations.push(...(await rule.find(request, call, found)));
  return violations;
}

/** If the caller lacks permission, or the database fails, only the violations found without it remain. */
const noneFor =
  ({ isUnavailable, isStatementTimeout }: Outages) =>
  (error: unknown): readonly Violation[] => {
    if (reasonOf(error) || isUnavailable(error) || isStatementTimeout(error)) return [];
    throw error;
  };

/** The fields of a request that decide about permission, by their JSON names. */
function fieldsOfAccess(method: DescMethod): string[] {
  const option = getOption(method, access);
  const single = [option.user, option.instance, option.coversUser, option.coversRoles, option.ownUser];
  const several = [...option.objects, ...option.selfUnless, ...option.coversUserWhen, option.givesRoleWhen];
  const names = new Set([...single, ...several]);
  return method.input.fields.filter(({ name }) => names.has(name)).map(({ jsonName }) => jsonName);
}
