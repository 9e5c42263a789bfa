import type { Interceptor } from "@connectrpc/connect";
import { pathOf, type RequestGate } from "@postern/gateway";
import { shownRequestId } from "../../src/deps.ts";
import { keepCallerRequestId } from "../../src/guards/caller_request_id.ts";
import type { Next, UnaryRequest } from "../../src/guards/interceptor.ts";
import type { Report } from "../../src/guards/report.ts";

/** The gate and the interceptors that an adapter of Connect calls before a handler. */
type Guards = { readonly requestGate: RequestGate; readonly interceptors: readonly Interceptor[] };

/**
 * Adds to an adapter of Connect three things that the gateway does by itself: the response carries the request id, calls whose
 * end no interceptor sees are reported, and a unary call ends at its deadline.
 */
export function forAdapter({ requestGate, interceptors }: Guards, report: Report) {
  return { requestGate: ended(requestGate, report), interceptors: [inTime(report), ...interceptors] };
}

function ended(gate: RequestGate, report: Report): RequestGate {
  return (context) => {
    keepCallerRequestId(context.method, context);
    context.responseHeader.set("x-request-id", shownRequestId(context.values));
    // connect-es aborts the signal at the end of every call; where its line has ended nothing is written.
    const operation = pathOf(context.method);
    const { values, signal, requestHeader } = context;
    const onEnd = () => void report.onError(signal.reason, { values, signal, requestHeader, operation });
    signal.addEventListener("abort", onEnd, { once: true });
    return gate(context);
  };
}

const inTime =
  (report: Report): Interceptor =>
  (next) =>
  (request) =>
    request.stream ? next(request) : untilAborted(request, next, report);

/** Ends the call when its signal is aborted, even if the handler ignores the signal. */
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
