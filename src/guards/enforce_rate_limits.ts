import type { ConnectError } from "@connectrpc/connect";
import type { RequestGate } from "@postern/gateway";
import { type Call, type Caller, keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import { failureRate } from "../security/failure_rate.ts";
import { type RateLimit, rateLimit } from "../security/rate_limit.ts";
import { type LateRefusals, lateRefusals } from "./late_refusals.ts";

/** The maximum number of calls per minute on this node; 0 sets no limit. */
export type RateLimitSettings = {
  readonly callsPerAddressPerMinute: number;
  readonly callsPerCallerPerMinute: number;
  readonly callsPerOrganizationPerMinute: number;
  readonly unknownTokensPerAddressPerMinute: number;
};

/** The limits on calls to this node. */
export type RateLimits = {
  /** Refuses a call from a network that has made too many, before anything else is known about it. */
  readonly ofNetwork: (network: string | undefined, values?: Call["values"]) => void;
  /** Refuses a call whose caller, or whose caller's organization, has made too many. */
  readonly ofCaller: (caller: Caller, values: Call["values"]) => void;
  /** Looks up a token, unless its network has sent too many unknown ones. */
  readonly ofToken: <T>(values: Call["values"], lookUp: () => Promise<T | undefined>) => Promise<T | undefined>;
  /** Does work; if these limits, or those of failed sign-ins, refuse it, the refusal comes late. */
  readonly late: LateRefusals;
  /** The same for a gate. */
  readonly lateGate: (gate: RequestGate) => RequestGate;
};

type Scope = { readonly name: string; readonly limit: RateLimit; readonly policy: string };

type Named = Pick<Scope, "name" | "policy">;

export function rateLimits(settings: RateLimitSettings): RateLimits {
  const ofAddress = scopeOf("address", settings.callsPerAddressPerMinute);
  const ofCaller = scopeOf("caller", settings.callsPerCallerPerMinute);
  const ofOrganization = scopeOf("organization", settings.callsPerOrganizationPerMinute);
  const late = lateRefusals();
  return {
    ofNetwork(network, values) {
      if (network !== undefined) take(ofAddress, network, values);
    },
    ofCaller({ userId, organization }, values) {
      take(ofCaller, userId, values);
      // The caller's own organization: with one named in a header, it could use up other callers' calls.
      take(ofOrganization, organization, values);
    },
    ofToken: tokenLookups(settings.unknownTokensPerAddressPerMinute),
    late,
    lateGate: (gate) => (context) => late(() => gate(context), context.timeoutMs()),
  };
}

function tokenLookups(perMinute: number): RateLimits["ofToken"] {
  const unknown = failureRate({ perMinute });
  const scope = { name: "unknown-token", policy: policyOf("unknown-token", perMinute) };
  return async (values, lookUp) => {
    const network = values.get(keys.network);
    if (network === undefined) return lookUp();
    const waitMs = unknown.waitMs(network, performance.now());
    if (waitMs > 0) throw refusedBy(scope, waitMs, values);
    // Pending lookups count too; otherwise as many could be made at once as there is capacity for.
    unknown.count(network, performance.now());
    let isUnknown = false;
    try {
      const found = await lookUp();
      isUnknown = found === undefined;
      return found;
    } finally {
      if (!isUnknown) unknown.uncount(network, performance.now());
    }
  };
}

const scopeOf = (name: string, perMinute: number): Scope => ({
  name,
  limit: rateLimit({ perMinute }),
  policy: policyOf(name, perMinute),
});

// draft-ietf-httpapi-ratelimit-headers-11, 3: a policy's quota and window.
const policyOf = (name: string, perMinute: number) => `"${name}";q=${perMinute};w=60`;

function take(scope: Scope, key: string, values: Call["values"] | undefined): void {
  const { limit } = scope;
  const now = performance.now();
  const left = limit.take(key, now);
  if (left < 0) throw refusedBy(scope, limit.waitMs(key, now), values);
  // Nearly all callers are far from a limit and need no headers about it.
  if (left * 2 >= limit.perMinute || values === undefined) return;
  const share = left / limit.perMinute;
  const nearest = values.get(keys.rateLimit);
  if (nearest !== undefined && share >= nearest.share) return;
  // 8.5: a client that spreads its remaining calls over this time stays within the policy.
  const windowMs = left === 0 ? limit.waitMs(key, now) : limit.fullMs(key, now);
  values.set(keys.rateLimit, { share, fields: fieldsOf(scope, left, secondsOf(windowMs)) });
}

const secondsOf = (ms: number) => Math.max(1, Math.ceil(ms / 1000));

// Section 4 of the draft: the remaining calls, and the seconds for which they have to last.
const fieldsOf = ({ name, policy }: Named, left: number, seconds: number) => ({
  ratelimit: `"${name}";r=${left};t=${seconds}`,
  "ratelimit-policy": policy,
});

function refusedBy(scope: Named, waitMs: number, values: Call["values"] | undefined): ConnectError {
  const retrySeconds = secondsOf(waitMs);
  // 6: Retry-After must not end before the window does.
  const fields = fieldsOf(scope, 0, retrySeconds);
  const retry = { "retry-after": String(retrySeconds) };
  // 3, 4: in the headers, although gRPC-Web would send an error's metadata in its trailers.
  values?.set(keys.rateLimit, { share: 0, fields });
  const metadata = values ? retry : { ...fields, ...retry };
  return refuse.because("RATE_LIMIT", { params: { limit: scope.name }, retrySeconds, metadata });
}
