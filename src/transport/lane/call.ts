import type { ContextValues } from "@connectrpc/connect";
import type { Call } from "../operations.ts";
import { type Fields, fieldOf } from "./protocol.ts";

/** A call whose signal is made when somebody asks for it, and that can be ended. */
export type LaneCall = Call & { readonly end: (reason: Error) => void };

/** Makes the context of a call out of what is there, without Headers, URL or AbortController. */
export function lightCall(values: ContextValues, headers: Fields): LaneCall {
  let ended: Error | undefined;
  let controller: AbortController | undefined;
  return {
    values,
    requestHeader: { get: (name) => fieldOf(headers, name) ?? fieldOf(headers, name.toLowerCase()) ?? null },
    get signal() {
      controller ??= new AbortController();
      if (ended) controller.abort(ended);
      return controller.signal;
    },
    end(reason) {
      ended ??= reason;
      controller?.abort(ended);
    },
  };
}
