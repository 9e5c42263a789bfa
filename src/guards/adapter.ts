import type { Interceptor } from "@connectrpc/connect";
import { pathOf, type RequestGate } from "@postern/gateway";
import { keys } from "../deps.ts";
import type { Next, UnaryRequest } from "./around.ts";
import type { Report } from "./report.ts";

/** What a call passes on its way to a handler. */
type Guards = { readonly requestGate: RequestGate; readonly interceptors: readonly Interceptor[] };

/**
 * Does for an adapter of Connect what only the gateway does by itself: names the request in its response, reports calls that no
 * interceptor sees the end of, and ends a unary call at its deadline.
 */
export function forAdapter({ requestGate, interceptors }: Guards, report: Report) {
  return { requestGate: ended(requestGate, report), interceptors: [inTime(report), ...interceptors] };
}

function ended(gate: RequestGate, report: Report): RequestGate {
  return (context) => {
    context.responseHeader.set("x-request-id", context.values.get(keys.requestId));
    // connect-es aborts the signal at the end of every call, by what it refused where the request cannot be read.
    context.signal.addEventListener("abort", () => report.ended(context), { once: true });
    return gate(context);
  };
}

const inTime =
  (report: Report): Interceptor =>
  (next) =>
  (request) =>
    request.stream ? next(request) : untilAborted(request, next, report);

/** Does not wait for a handler that does not heed its signal. */
async function untilAborted(request: UnaryRequest, next: Next, { onError }: Report) {
  const { signal, contextValues: values, header: requestHeader } = request;
  const { promise, reject } = Promise.withResolvers<never>();
  const operation = pathOf(request.method);
  const abort = () => reject(onError(signal.reason, { values, signal, requestHeader, operation }));
  signal.addEventListener("abort", abort);
  try {
    if (signal.aborted) abort();
    return await (signal.aborted ? promise : Promise.race([promise, next(request)]));
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
