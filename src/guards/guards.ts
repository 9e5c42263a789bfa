import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { isRead } from "@postern/gateway";
import type { Call, Deps } from "../deps.ts";
import { reasonOf } from "../errors.ts";
import type { LateRule, MessageRule } from "../rules.ts";
import { authenticate, type KnownCallers } from "./authenticate.ts";
import { authorize } from "./authorize.ts";
import { resolveAlias } from "./caller_alias.ts";
import type { Capacity } from "./capacity.ts";
import { type ChosenIds, chosenIds } from "./chosen_ids.ts";
import { crossFieldRules } from "./cross_field.ts";
import type { Lookups } from "./held_permissions.ts";
import { type IdempotencyOptions, idempotency, type Keyed } from "./idempotency.ts";
import { before, callOf, forEachMethod, type Request, type Step, type UnaryRequest } from "./interceptor.ts";
import { largeCalls } from "./large_calls.ts";
import { lateViolations } from "./late_rules.ts";
import type { Outages } from "./outage.ts";
import { rechecked } from "./recheck.ts";
import { refusedWrites } from "./refused_writes.ts";
import { type Report, responseFieldsOf } from "./report.ts";
import { retry } from "./retry.ts";
import { completeMask } from "./update_mask.ts";
import { type RulesOf, validate } from "./validate.ts";

export type GuardOptions = {
  readonly report: Report;
  readonly known: KnownCallers;
  readonly capacity: Capacity;
  /** The limit on open streams. */
  readonly streams: Interceptor;
  readonly rules: RulesOf;
  readonly declared: readonly MessageRule[];
  /** The request rules that need the database. */
  readonly late: readonly LateRule<Call>[];
  readonly lookups: Lookups;
  readonly chosenIds: ChosenIds;
  readonly idempotency: IdempotencyOptions;
  readonly outages: Outages;
  readonly noteAttempt: Deps["noteAttempt"];
};

/** The interceptors between gate and handler, in order. */
export function guards(options: GuardOptions): Interceptor[] {
  const { report, rules, declared, outages } = options;
  // The gate has found the caller, but the body may have arrived much later.
  const known = forEachMethod((method) => checked(authenticate(method, options.known)));
  const allowed = forEachMethod((method) => resolvedAndAllowed(method, options));
  const late = (method: Request["method"]) => lateViolations(method, { rules: options.late, allowed, outages });
  const wellFormed = forEachMethod((method) => validate(method, rules, late(method)));
  const keyed = forEachMethod((method) => idempotency(method, options.idempotency));
  return [
    report.interceptor,
    options.capacity.interceptor,
    refusedWrites(options.noteAttempt),
    before(known),
    before(wellFormed),
    authorized(allowed, keyed),
    options.streams,
    largeCalls((next) => before(known)(authorized(allowed, keyed)(next))),
    rechecked([known, wellFormed, allowed]),
    lostRacesAgain,
    oncePerKey(keyed),
    before((method) => crossFieldRules(method, declared, late(method))),
  ];
}

/** Resolves the caller's alias first, because permissions depend on the user in the request. Also completes update masks. */
function resolvedAndAllowed(method: Request["method"], options: Pick<GuardOptions, "lookups" | "chosenIds">): Step {
  const [resolve, complete] = [resolveAlias(method.input), completeMask(method)];
  const allow = authorize(method, options.lookups);
  const choose = chosenIds(method.input, options.chosenIds);
  return (request, call) => {
    resolve(request, call);
    complete(request);
    const pending = allow(request, call);
    return choose && pending ? pending.then(() => choose(request, call)) : (pending ?? choose?.(request, call));
  };
}

type StepOf = (method: Request["method"]) => Step;
type KeyedOf = (method: Request["method"]) => Keyed;

const checked =
  (find: ReturnType<typeof authenticate>): Step =>
  (_request, call) => {
    const found = find(call);
    return found instanceof Promise ? found.then(() => {}) : undefined;
  };

/** Refuses callers without permission. A repeated request may have removed its own object, and gets the recorded response. */
function authorized(allowed: StepOf, keyed: KeyedOf): Interceptor {
  const ofStream = before(allowed);
  return (next) => {
    const streamed = ofStream(next);
    return (request) => {
      if (request.stream) return streamed(request);
      const pending = allowed(request.method)(request.message, callOf(request));
      if (!pending) return next(request);
      return pending.then(
        () => next(request),
        (error) => answeredBefore(keyed, request, error),
      );
    };
  };
}

async function answeredBefore(keyed: KeyedOf, request: UnaryRequest, error: unknown) {
  const answered = isMissing(error) && (await keyed(request.method).answered(request.message, callOf(request)));
  if (!answered) throw error;
  return recorded(request, answered);
}

const isMissing = (error: unknown) => reasonOf(error)?.endsWith("_NOT_FOUND") === true;

/** Answers a write repeated with the same key with the first response. */
function oncePerKey(keyed: KeyedOf): Interceptor {
  return (next) => (request) => {
    if (request.stream) return next(request);
    return keyed(request.method).once(
      () => next(request),
      { request: request.message, call: callOf(request) },
      (message) => recorded(request, message),
    );
  };
}

const recorded = ({ service, method, contextValues }: UnaryRequest, message: Message) => ({
  stream: false as const,
  service,
  method,
  message,
  // These headers are the call's own: connect-es deletes fields from them that a response with other headers lacks, such as grpc-status.
  ...responseFieldsOf(contextValues),
});

/** Reruns a command that lost a race from its read. This is outside of the key, because the command may have lost to its own repetition. */
const lostRacesAgain: Interceptor = (next) => (request) =>
  isRead(request.method) || request.stream ? next(request) : retry(() => next(request), request);
