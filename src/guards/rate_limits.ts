import type { ConnectError } from "@connectrpc/connect";
import { type Call, type Caller, keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import { failureRate } from "../security/failure_rate.ts";
import { type RateLimit, rateLimit } from "../security/rate_limit.ts";

/** How many calls this node takes in a minute; 0 sets no limit. */
export type RateLimitSettings = {
  readonly callsPerAddressPerMinute: number;
  readonly callsPerCallerPerMinute: number;
  readonly callsPerOrganizationPerMinute: number;
  readonly unknownTokensPerAddressPerMinute: number;
};

/** The limits of calls on this node. */
export type RateLimits = {
  /** Refuses a call from a network that has made too many, before anything else is known of it. */
  readonly ofNetwork: (network: string | undefined, values?: Call["values"]) => void;
  /** Refuses a call whose caller, or whose caller's organization, has made too many. */
  readonly ofCaller: (caller: Caller, values: Call["values"]) => void;
  /** Looks up a token, unless its network has sent too many that nobody has. */
  readonly ofToken: <T>(values: Call["values"], lookUp: () => Promise<T | undefined>) => Promise<T | undefined>;
};

type Scope = { readonly name: string; readonly limit: RateLimit; readonly policy: string };

type Named = Pick<Scope, "name" | "policy">;

/** Makes the limits. */
export function rateLimits(settings: RateLimitSettings): RateLimits {
  const ofAddress = scopeOf("address", settings.callsPerAddressPerMinute);
  const ofCaller = scopeOf("caller", settings.callsPerCallerPerMinute);
  const ofOrganization = scopeOf("organization", settings.callsPerOrganizationPerMinute);
  return {
    ofNetwork(network, values) {
      if (network !== undefined) take(ofAddress, network, values);
    },
    ofCaller({ userId, organization }, values) {
      take(ofCaller, userId, values);
      // The caller's own: by a header of its choice it would use up the calls of others.
      take(ofOrganization, organization, values);
    },
    ofToken: tokenLookups(settings.unknownTokensPerAddressPerMinute),
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
    // A look-up under way counts, or as many as there is room for would be made at once.
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

// draft-ietf-httpapi-ratelimit-headers-11, 3: quota and window of a policy.
const policyOf = (name: string, perMinute: number) => `"${name}";q=${perMinute};w=60`;

function take(scope: Scope, key: string, values: Call["values"] | undefined): void {
  const { limit } = scope;
  const now = performance.now();
  const left = limit.take(key, now);
  if (left < 0) throw refusedBy(scope, limit.waitMs(key, now), values);
  // Callers who are far from a limit, nearly all of them, need no headers about it.
  if (left * 2 >= limit.perMinute || values === undefined) return;
  const share = left / limit.perMinute;
  const nearest = values.get(keys.rateLimit);
  if (nearest !== undefined && share >= nearest.share) return;
  // 8.5: a client that spreads the calls that are left over this time makes no more of them than the policy allows.
  const windowMs = left === 0 ? limit.waitMs(key, now) : limit.fullMs(key, now);
  values.set(keys.rateLimit, { share, fields: fieldsOf(scope, left, secondsOf(windowMs)) });
}

const secondsOf = (ms: number) => Math.max(1, Math.ceil(ms / 1000));

// Section 4 of the draft: the calls that are left, and the seconds within which the client has no more of them.
const fieldsOf = ({ name, policy }: Named, left: number, seconds: number) => ({
  ratelimit: `"${name}";r=${left};t=${seconds}`,
  "ratelimit-policy": policy,
});

function refusedBy(scope: Named, waitMs: number, values: Call["values"] | undefined): ConnectError {
  const retrySeconds = secondsOf(waitMs);
  // 6: the time of Retry-After does not come before the end of the window.
  const fields = fieldsOf(scope, 0, retrySeconds);
  const retry = { "retry-after": String(retrySeconds) };
  // 3, 4: in the headers, where gRPC-Web would put the metadata of a refusal into its trailers.
  values?.set(keys.rateLimit, { share: 0, fields });
  const metadata = values ? retry : { ...fields, ...retry };
  return refuse.because("RATE_LIMIT", { params: { limit: scope.name }, retrySeconds, metadata });
}
