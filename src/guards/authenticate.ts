import type { DescMethod } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import { callerKey, type RequestGate } from "@postern/gateway";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { type Call, type Caller, keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import { hashToken, isWellFormed } from "../security/token.ts";
import { forEachMethod } from "./around.ts";
import type { CallerCache } from "./caller_cache.ts";
import { type Outages, outage } from "./outage.ts";

/** Finds the caller from the headers alone; returns the user's id, or undefined where anyone may call. */
export type Authenticate = (call: Call) => string | undefined | Promise<string | undefined>;

// A body may arrive slowly, and a stream lasts: a caller that was found longer ago than this is looked up again.
const freshMs = 1000;

/** Authenticates the callers of an rpc: at the gate, before a body is read, and again if that was a while ago. */
export function authenticate(method: DescMethod, callers: CallerCache): Authenticate {
  if (isForAnyone(method)) return () => undefined;
  return (call) => {
    const known = call.values.get(keys.caller);
    if (known && performance.now() - call.values.get(authenticatedKey) < freshMs) return known.userId;
    const token = bearerOf(call.requestHeader.get("authorization"));
    if (token === undefined) throw refuse.because("UNAUTHENTICATED");
    if (!isWellFormed(token)) throw refuse.because("TOKEN_INVALID");
    const found = callers.find(hashToken(token).toString("hex"));
    return found instanceof Promise ? found.then((caller) => admitted(call, caller)) : admitted(call, found);
  };
}

/** Says whether nobody has to be signed in for an rpc. */
export const isForAnyone = (method: DescMethod): boolean => getOption(method, access).who.case === "anyone";

const authenticatedKey = createContextKey<number>(0, { description: "when the caller was authenticated" });

function admitted({ values }: Call, caller: Caller | undefined): string {
  if (!caller) throw refuse.because("TOKEN_INVALID");
  values.set(keys.caller, caller);
  values.set(keys.organization, caller.organization);
  values.set(authenticatedKey, performance.now());
  return caller.userId;
}

// RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1).
function bearerOf(header: string | null): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(header ?? "")?.[1];
}

/** The gate of every rpc: finds the caller from the headers alone, before any of the body is read. */
export function gate(callers: CallerCache, outages: Outages): RequestGate {
  const known = forEachMethod((method) => authenticate(method, callers));
  const inWords = outage(outages);
  return (context) => {
    const caller = known(context.method)(context);
    if (!(caller instanceof Promise)) return void context.values.set(callerKey, caller);
    return caller.then(
      (name) => void context.values.set(callerKey, name),
      (error) => Promise.reject(inWords(error)),
    );
  };
}
