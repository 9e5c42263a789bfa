import { createContextValues } from "@connectrpc/connect";
import { type Call, keys } from "../../deps.ts";

/** Makes a call for a fact recorded in addition to the response: without the caller's deadline and idempotency key. */
export function aside({ values, requestHeader }: Call): Call {
  const kept = createContextValues()
    .set(keys.requestId, values.get(keys.requestId))
    .set(keys.address, values.get(keys.address))
    .set(keys.caller, values.get(keys.caller));
  return { values: kept, requestHeader, signal: new AbortController().signal };
}
