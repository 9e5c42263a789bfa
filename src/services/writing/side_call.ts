import { createContextValues } from "@connectrpc/connect";
import { type Call, keys, userAgentMax } from "../../deps.ts";

/**
 * Makes a call for a fact recorded in addition to the response: without the caller's deadline and idempotency key, and with little to keep
 * in memory until then.
 */
export function aside({ values, requestHeader }: Call): Call {
  const kept = createContextValues()
    .set(keys.requestId, values.get(keys.requestId))
    .set(keys.address, values.get(keys.address))
    .set(keys.caller, values.get(keys.caller));
  const userAgent = requestHeader.get("user-agent")?.slice(0, userAgentMax) ?? null;
  const header = { get: (name: string) => (name === "user-agent" ? userAgent : null) };
  return { values: kept, requestHeader: header, signal: new AbortController().signal };
}
