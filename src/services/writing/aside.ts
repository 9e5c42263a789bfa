import { createContextValues } from "@connectrpc/connect";
import { type Call, keys } from "../../deps.ts";

/** Makes the call for a fact besides the answer: the caller's deadline does not end it, and it has no idempotency key. */
export function aside({ values, requestHeader }: Call): Call {
  const kept = createContextValues()
    .set(keys.requestId, values.get(keys.requestId))
    .set(keys.caller, values.get(keys.caller));
  return { values: kept, requestHeader, signal: new AbortController().signal };
}
