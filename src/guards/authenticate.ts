import type { DescMethod } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import { callerKey, type RequestGate } from "@postern/gateway";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { type Call, type Caller, keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import type { FailureRates } from "../security/failure_rate.ts";
import { hashToken, isJwt, isWellFormed } from "../security/token.ts";
import type { CallerCache } from "./caller_cache.ts";
import { forEachMethod } from "./interceptor.ts";
import { type Outages, outage } from "./outage.ts";
import type { RateLimits } from "./rate_limits.ts";
import type { RecentTokens } from "./recent_tokens.ts";

/** Finds the caller from the headers alone; returns the user's id, or undefined where anyone may call. */
export type Authenticate = (call: Call) => string | undefined | Promise<string | undefined>;

// A body may arrive slowly, and a stream lasts: a caller that was found longer ago than this is looked up again.
const freshMs = 1000;

/** Where callers are found, the limits of looking for them, and the place that says how to get a token. */
export type KnownCallers = {
  readonly callers: CallerCache;
  readonly limits: RateLimits;
  /** The counts of failures of handlers. */
  readonly rates: Pick<FailureRates, "waitMs">;
  /** The tokens of callers that are cached. */
  readonly tokens: RecentTokens;
  /** The URL of our metadata as a protected resource; undefined where nobody can sign in to applications. */
  readonly resourceMetadata: () => string | undefined;
};

/** Authenticates the callers of an rpc: at the gate, before a body is read, and again if that was a while ago. */
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
    const find = async () => callers.find(hash);
    // A token that was in use a moment ago is no guess, also when a revocation has emptied the cache.
    const found = callers.wasFound(hash) ? find() : limits.ofToken(call.values, find);
    return found.then((caller) => admitted(call, caller));
  };
}

/** Says whether nobody has to be signed in for an rpc. */
export const isForAnyone = (method: DescMethod): boolean => getOption(method, access).who.case === "anyone";

const authenticatedKey = createContextKey<number>(0, { description: "when the caller was authenticated" });

type TokenReason = "UNAUTHENTICATED" | "TOKEN_INVALID" | "TOKEN_IS_JWT";

/** Makes the refusal of a call without a token that counts; RFC 9728, 5.1 says where one comes from. */
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
export function gate(known: KnownCallers, outages: Outages): RequestGate {
  const { limits, rates } = known;
  const limited = forEachMethod((method) => addressLimit(method, rates));
  const find = forEachMethod((method) => authenticate(method, known));
  const inWords = outage(outages);
  return (context) => {
    const { values } = context;
    limits.ofNetwork(values.get(keys.network), values);
    limited(context.method)(values.get(keys.network));
    const caller = find(context.method)(context);
    if (!(caller instanceof Promise)) return pass(caller, values, limits);
    return caller.then(
      (name) => pass(name, values, limits),
      (error) => Promise.reject(inWords(error, context)),
    );
  };
}

/** Refuses a call by the count of its handler, before its message is read: a body costs more than the refusal. */
function addressLimit(method: DescMethod, rates: KnownCallers["rates"]): (network: string | undefined) => void {
  const name = getOption(method, access).addressLimit;
  if (name === "") return () => {};
  return (network) => {
    const waitMs = network === undefined ? 0 : rates.waitMs(name, network);
    if (waitMs > 0) throw refusedByCount(name, waitMs);
  };
}

// As the handler refuses it: a sign-in by password says so.
const refusedByCount = (name: string, waitMs: number) =>
  refuse.because(name === "sign-ins by address" ? "PASSWORD_ATTEMPTS" : "RATE_LIMIT", {
    retrySeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });

function pass(name: string | undefined, values: Call["values"], limits: RateLimits): void {
  values.set(callerKey, name);
  const caller = values.get(keys.caller);
  if (caller) limits.ofCaller(caller, values);
}
