import type { DescMethod } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import { callerKey, type RequestGate } from "@postern/gateway";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { type Call, type Caller, keys, shareOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { workFor } from "../security/current_share.ts";
import type { FailureRates } from "../security/failure_rate.ts";
import { hashToken, isJwt, isWellFormed } from "../security/token.ts";
import type { CallerCache } from "./caller_cache.ts";
import type { RateLimits } from "./enforce_rate_limits.ts";
import { forEachMethod } from "./interceptor.ts";
import type { RecentTokens } from "./recent_tokens.ts";

/** Finds the caller from the headers alone; returns the user's id, or undefined if anyone may call. */
export type Authenticate = (call: Call) => string | undefined | Promise<string | undefined>;

// Bodies may arrive slowly, and streams last long, so a caller found longer ago than this is looked up again.
const freshMs = 1000;

/** How callers are found, the limits on looking them up, and the URL that tells them how to get a token. */
export type KnownCallers = {
  readonly callers: CallerCache;
  readonly limits: RateLimits;
  /** The failure counts of handlers. */
  readonly rates: Pick<FailureRates, "waitMs">;
  /** The tokens of cached callers. */
  readonly tokens: RecentTokens;
  /** The URL of our protected resource metadata; undefined if nobody can sign in to applications. */
  readonly resourceMetadata: () => string | undefined;
};

/** Authenticates the callers of an rpc: at the gate, before the body is read, and again if that was a while ago. */
export function authenticate(
  method: DescMethod,
  { callers, limits, tokens, resourceMetadata }: KnownCallers,
): Authenticate {
  if (isForAnyone(method)) return admitAnyone;
  const refused = (reason: TokenReason) => unauthenticated(reason, resourceMetadata());
  const hashed = (token: string): string => {
    if (isJwt(token)) throw refused("TOKEN_IS_JWT");
    if (!isWellFormed(token)) throw refused("TOKEN_INVALID");
    return hashToken(token).toString("hex");
  };
  const admitted = (call: Call, caller: Caller | undefined) => {
    if (!caller) throw refused("TOKEN_INVALID");
    return admit(call, caller);
  };
  return (call) => {
    const known = call.values.get(keys.caller);
    if (known && performance.now() - call.values.get(authenticatedKey) < freshMs) return known.userId;
    const token = bearerOf(call.requestHeader.get("authorization"));
    if (token === undefined) throw refused("UNAUTHENTICATED");
    const recent = tokens.hashOf(token);
    const hash = recent ?? hashed(token);
    const cached = callers.cached(hash);
    if (cached) {
      if (recent === undefined) tokens.keep(token, hash);
      return admitted(call, cached);
    }
    const find = async () => workFor({ shares: [shareOf(call)] }, () => callers.find(hash, call));
    // A token in use a moment ago is not a guess, even if a revocation has emptied the cache.
    const found = callers.wasFound(hash) ? find() : limits.ofToken(call.values, find);
    return found.then((caller) => admitted(call, caller));
  };
}

export const isForAnyone = (method: DescMethod): boolean => getOption(method, access).who.case === "anyone";

const authenticatedKey = createContextKey<number>(0, { description: "when the caller was authenticated" });

type TokenReason = "UNAUTHENTICATED" | "TOKEN_INVALID" | "TOKEN_IS_JWT";

/** Makes the error for a call without a valid token; RFC 9728, 5.1 tells the client where to get one. */
function unauthenticated(reason: TokenReason, resourceMetadata: string | undefined) {
  if (resourceMetadata === undefined) return refuse.because(reason);
  const challenge = `Bearer realm="postern", resource_metadata="${resourceMetadata}"`;
  return refuse.because(reason, { metadata: { "www-authenticate": challenge } });
}

function admitAnyone({ values }: Call): undefined {
  values.set(keys.needsNoCaller, true);
}

function admit({ values }: Call, caller: Caller): string {
  values.set(keys.caller, caller);
  values.set(keys.organization, caller.organization);
  values.set(authenticatedKey, performance.now());
  return caller.userId;
}

// RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1).
function bearerOf(header: string | null): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(header ?? "")?.[1];
}

/** The gate of every rpc: finds the caller from the headers alone, before any of the body is read, and counts the call. */
export function gate(known: KnownCallers): RequestGate {
  const { limits, rates } = known;
  const limited = forEachMethod((method) => addressLimit(method, rates));
  const find = forEachMethod((method) => authenticate(method, known));
  return (context) => {
    const { values } = context;
    limits.ofNetwork(values.get(keys.network), values);
    limited(context.method)(values.get(keys.network));
    const caller = find(context.method)(context);
    if (!(caller instanceof Promise)) return pass(caller, values, limits);
    return caller.then((name) => pass(name, values, limits));
  };
}

/** Refuses a call by its handler's failure count before the message is read, because a body costs more than the refusal. */
function addressLimit(method: DescMethod, rates: KnownCallers["rates"]): (network: string | undefined) => void {
  const name = getOption(method, access).addressLimit;
  if (name === "") return () => {};
  return (network) => {
    const waitMs = network === undefined ? 0 : rates.waitMs(name, network);
    if (waitMs > 0) throw refusedByCount(name, waitMs);
  };
}

// The same error as the handler's: sign-in by password has one of its own.
const refusedByCount = (name: string, waitMs: number) =>
  refuse.because(name === "sign-ins by address" ? "PASSWORD_ATTEMPTS" : "RATE_LIMIT", {
    retrySeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });

function pass(name: string | undefined, values: Call["values"], limits: RateLimits): void {
  values.set(callerKey, name);
  const caller = values.get(keys.caller);
  if (caller) limits.ofCaller(caller, values);
}
