import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { type Arrived, type CallSpan, callSpan, type Spans } from "./call_span.ts";
import { type Collector, collector } from "./collector.ts";
import { type ExportLoad, openExporter } from "./exporter.ts";
import { type ArrivedRequest, type RequestSpan, requestSpan } from "./request_span.ts";
import { type Sampler, samplingOf } from "./sampling.ts";
import { contextOf, newTraceId, type SpanContext } from "./span_context.ts";
import { summaries } from "./statement.ts";
import { type StatementSpan, shareStatements, statementSpan } from "./statement_span.ts";
import { parentIn } from "./trace_context.ts";

export type TracingOptions = {
  readonly collector: Collector;
  readonly sampler: Sampler;
  /** The share of calls to trace, for ratio-based samplers. */
  readonly ratio: number;
  /** Called once when the collector begins to fail. */
  readonly onError: (error: unknown) => void;
};

/** Traces calls and their statements; disposing of it exports the last spans. */
export type Tracing = AsyncDisposable & {
  /** Begins the span of a call; undefined if the call is not traced. */
  readonly call: (headers: Pick<Headers, "get">, arrived: Arrived) => CallSpan | undefined;
  /** Begins the span of a request that is not a call; undefined if it is not traced. */
  readonly request: (headers: Pick<Headers, "get">, arrived: ArrivedRequest) => RequestSpan | undefined;
  /** Begins the spans of a statement; undefined if no call waiting for it is traced. */
  readonly statement: (text: string) => StatementSpan | undefined;
  readonly load: () => ExportLoad;
};

export function openTracing({ collector: to, sampler, ratio, onError }: TracingOptions): Tracing {
  const exporter = openExporter({ hand: collector({ ...to, resource: { ...node(), ...to.resource } }), onError });
  const spans: Spans = { calls: new AsyncLocalStorage<readonly SpanContext[]>(), take: exporter.take };
  const sampled = samplingOf(sampler, ratio);
  const summary = summaries();
  const sharing = shareStatements(spans.calls);

  return {
    call(headers, arrived) {
      const context = contextIn(headers);
      return context && callSpan(spans, arrived, context);
    },
    request(headers, arrived) {
      const context = contextIn(headers);
      return context && requestSpan(spans, arrived, context);
    },
    statement(text) {
      const calls = spans.calls.getStore();
      return calls?.length ? statementSpan(spans, summary(text), calls) : undefined;
    },
    load: exporter.load,
    async [Symbol.asyncDispose]() {
      sharing[Symbol.dispose]();
      await exporter[Symbol.asyncDispose]();
    },
  };

  /** The context of a new span, which continues its caller's trace; undefined if that is not sampled. */
  function contextIn(headers: Pick<Headers, "get">): SpanContext | undefined {
    const parent = parentIn(headers);
    const traceId = parent?.traceId ?? newTraceId();
    return sampled(traceId, parent) ? contextOf(traceId, parent) : undefined;
  }
}

/** Attributes that distinguish this node from the service's others. */
const node = () => ({
  "service.instance.id": randomUUID(),
  "telemetry.sdk.name": "postern",
  "telemetry.sdk.language": "nodejs",
});
