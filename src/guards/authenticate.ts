import type { DescMethod, Message } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { type Call, type Caller, keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import { hashToken, isWellFormed } from "../security/token.ts";
import type { CallerCache } from "./caller_cache.ts";

/** Finds out who calls. Without a token only operations that anyone may call go on. */
export function authenticate(
  method: DescMethod,
  callers: CallerCache,
): (request: Message, call: Call) => Promise<void> {
  if (getOption(method, access).who.case === "anyone") return async () => {};
  return async (_request, call) => {
    const token = bearerOf(call.requestHeader.get("authorization"));
    if (token === undefined) throw refuse.because("UNAUTHENTICATED");
    const caller = await callerOf(token);
    if (!caller) throw refuse.because("TOKEN_INVALID");
    call.values.set(keys.caller, caller);
    call.values.set(keys.organization, caller.organization);
  };

  async function callerOf(token: string): Promise<Caller | undefined> {
    return isWellFormed(token) ? callers.find(hashToken(token).toString("hex")) : undefined;
  }
}

// RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1).
function bearerOf(header: string | null): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(header ?? "")?.[1];
}
