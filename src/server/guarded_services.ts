import type { Interceptor } from "@connectrpc/connect";
import { CallValues } from "@postern/gateway";
import type { Config } from "../config/config.ts";
import { keys } from "../deps.ts";
import { gate } from "../guards/authenticate.ts";
import type { Capacity } from "../guards/capacity.ts";
import type { ChosenIds } from "../guards/chosen_ids.ts";
import type { RateLimits } from "../guards/enforce_rate_limits.ts";
import { guards } from "../guards/guards.ts";
import type { Lookups } from "../guards/held_permissions.ts";
import { recentTokens } from "../guards/recent_tokens.ts";
import type { Report } from "../guards/report.ts";
import { streamLimit } from "../guards/stream_limit.ts";
import { messageRules } from "../guards/validate.ts";
import { isStatementTimeout, isUnavailable } from "../postgres/failure.ts";
import { resourceMetadataOf } from "../provider/request/own_api.ts";
import type { MessageRule } from "../rules.ts";
import { lateRulesOf, routesOf, rulesOf } from "../runtime/modules.ts";
import type { Runtime } from "../runtime/runtime.ts";
import * as lookups from "../services/callers/caller_lookups.ts";
import { cachedLookups } from "./cached_lookups.ts";

/** The report of calls, the rate limits, the limit on concurrent calls, and the issuer of tokens, if there is one. */
export type Lines = {
  readonly lines: Report;
  readonly limits: RateLimits;
  readonly capacity: Capacity;
  readonly issuer: () => string | undefined;
};

/** The network of a client, for limits, and its address. */
type ClientNames = Readonly<Record<"network" | "address", string | undefined>>;

/** The services with their gate, interceptors and context values, in the form that Connect's adapters take. */
export function guardedServices(runtime: Runtime, config: Config, { lines, limits, capacity, issuer }: Lines) {
  return {
    ...guarded(runtime, {
      found: cachedLookups(runtime, config),
      declared: rulesOf(runtime.deps, config),
      report: lines,
      limits,
      capacity,
      streams: streamLimit({ all: config.knownStreamsMax, ofCaller: config.streamsPerCallerMax }),
      chosenIds: config.chosenIds,
      resourceMetadata: () => resourceMetadataOf(issuer()),
    }),
    routes: routesOf(runtime, config),
    contextValues: ({ network, address }: ClientNames) =>
      new CallValues().set(keys.requestId, runtime.deps.ids()).set(keys.network, network).set(keys.address, address),
  };
}

type GuardedOptions = Readonly<{
  found: Lookups;
  declared: readonly MessageRule[];
  report: Report;
  limits: RateLimits;
  capacity: Capacity;
  streams: Interceptor;
  chosenIds: ChosenIds;
  resourceMetadata: () => string | undefined;
}>;

/** The gate, which finds the caller, and the interceptors between it and the handler. */
function guarded(runtime: Runtime, options: GuardedOptions) {
  const { found, declared, report, limits, capacity: bound, resourceMetadata } = options;
  const { callers, deps, rates } = runtime;
  const known = { callers, limits, rates, tokens: recentTokens(), resourceMetadata };
  const rules = messageRules(declared);
  const outages = { isUnavailable, isStatementTimeout };
  const interceptors = guards({
    report,
    known,
    capacity: bound,
    streams: options.streams,
    chosenIds: options.chosenIds,
    rules,
    declared,
    late: lateRulesOf(deps),
    lookups: found,
    outages,
    noteAttempt: deps.noteAttempt,
    idempotency: { recordOf: lookups.doneBeforeRead(deps.sql), keyring: deps.secrets.keyring, clock: deps.clock },
  });
  const requestGate = limits.lateGate(report.atGate(bound.gated(gate(known))));
  return { rules, interceptors, requestGate };
}
