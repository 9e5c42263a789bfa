import type { Spans } from "./call_span.ts";
import type { Attributes } from "./span.ts";
import { type SpanContext, timeAt } from "./span_context.ts";

/** A request that is not a call, on arrival. */
export type ArrivedRequest = { readonly method: string; readonly endpoint: string; readonly requestId: string };

/** How a request ended. */
export type RequestOutcome = { readonly status: number; readonly reason?: string | undefined };

/** The span of a request; the statements that it sends become its children. */
export type RequestSpan = {
  readonly run: <T>(work: () => T) => T;
  readonly ended: (outcome: RequestOutcome) => void;
};

export function requestSpan({ calls, take }: Spans, arrived: ArrivedRequest, context: SpanContext): RequestSpan {
  const from = timeAt(context);
  const here = [context];
  return {
    run: (work) => calls.run(here, work),
    ended(outcome) {
      const method = methods.includes(arrived.method) ? arrived.method : undefined;
      take({
        ...context,
        kind: "server",
        name: `${method ?? "HTTP"} ${arrived.endpoint}`,
        from,
        to: timeAt(context),
        attributes: attributesOf({ ...arrived, method: method ?? "_OTHER" }, outcome),
        failed: outcome.status >= 500,
      });
    },
  };
}

// Clients may send any word as the method; spans only name known ones.
const methods: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

// https://opentelemetry.io/docs/specs/semconv/http/http-spans/
const attributesOf = (
  { method, endpoint, requestId }: ArrivedRequest,
  { status, reason }: RequestOutcome,
): Attributes => ({
  "http.request.method": method,
  "http.route": endpoint,
  "http.response.status_code": status,
  "error.type": status >= 500 ? String(status) : undefined,
  "postern.reason": reason,
  "postern.request_id": requestId,
});
