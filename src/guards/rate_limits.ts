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
  readonly ofToken: <T>(network: string | undefined, lookUp: () => Promise<T | undefined>) => Promise<T | undefined>;
};

type Scope = { readonly name: string; readonly limit: RateLimit; readonly policy: string };

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
  return async (network, lookUp) => {
    if (network === undefined) return lookUp();
    const waitMs = unknown.waitMs(network, performance.now());
    if (waitMs > 0) throw refusedBy(scope, { waitMs, fullMs: 60_000 });
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

// draft-ietf-httpapi-ratelimit-headers-10, 3: quota and window of a policy.
const policyOf = (name: string, perMinute: number) => `"${name}";q=${perMinute};w=60`;

function take(scope: Scope, key: string, values: Call["values"] | undefined): void {
  const { limit } = scope;
  const now = performance.now();
  const left = limit.take(key, now);
  if (left < 0) throw refusedBy(scope, { waitMs: limit.waitMs(key, now), fullMs: limit.fullMs(key, now) });
  // Callers who are far from a limit, nearly all of them, need no headers about it.
  if (left * 2 >= limit.perMinute || values === undefined) return;
  const share = left / limit.perMinute;
  const nearest = values.get(keys.rateLimit);
  if (nearest === undefined || share < nearest.share)
    values.set(keys.rateLimit, { share, fields: fieldsOf(scope, left, limit.fullMs(key, now)) });
}

// Section 4 of the draft: the calls that are left, and the seconds until all of them are there again.
const fieldsOf = ({ name, policy }: Pick<Scope, "name" | "policy">, left: number, fullMs: number) => ({
  ratelimit: `"${name}";r=${left};t=${Math.ceil(fullMs / 1000)}`,
  "ratelimit-policy": policy,
});

type Times = { readonly waitMs: number; readonly fullMs: number };

function refusedBy(scope: Pick<Scope, "name" | "policy">, { waitMs, fullMs }: Times): ConnectError {
  const retrySeconds = Math.max(1, Math.ceil(waitMs / 1000));
  const metadata = { ...fieldsOf(scope, 0, fullMs), "retry-after": String(retrySeconds) };
  return refuse.because("RATE_LIMIT", { params: { limit: scope.name }, retrySeconds, metadata });
}
