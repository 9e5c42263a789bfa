import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { type Arrived, type CallSpan, callSpan } from "./call_span.ts";
import { type Collector, collector } from "./collector.ts";
import { type ExportLoad, openExporter } from "./exporter.ts";
import { type Sampler, samplingOf } from "./sampling.ts";
import { contextOf, newTraceId, type SpanContext } from "./span_context.ts";
import { summaries } from "./statement.ts";
import { type StatementSpan, shareStatements, statementSpan } from "./statement_span.ts";
import { parentIn } from "./trace_context.ts";

/** Options of tracing. */
export type TracingOptions = {
  readonly collector: Collector;
  readonly sampler: Sampler;
  /** The share of calls to trace, for samplers by ratio. */
  readonly ratio: number;
  /** Called once when the collector begins to fail. */
  readonly onError: (error: unknown) => void;
};

/** Traces calls and their statements; disposing of it exports the last spans. */
export type Tracing = AsyncDisposable & {
  /** Begins the span of a call; undefined when the call is not traced. */
  readonly call: (headers: Pick<Headers, "get">, arrived: Arrived) => CallSpan | undefined;
  /** Begins the spans of a statement; undefined when no call that waits for it is traced. */
  readonly statement: (text: string) => StatementSpan | undefined;
  readonly load: () => ExportLoad;
};

/** Opens tracing. */
export function openTracing({ collector: to, sampler, ratio, onError }: TracingOptions): Tracing {
  const exporter = openExporter({ hand: collector({ ...to, resource: { ...node(), ...to.resource } }), onError });
  const spans = { calls: new AsyncLocalStorage<readonly SpanContext[]>(), take: exporter.take };
  const sampled = samplingOf(sampler, ratio);
  const summary = summaries();
  const sharing = shareStatements(spans.calls);

  return {
    call(headers, arrived) {
      const parent = parentIn(headers);
      const traceId = parent?.traceId ?? newTraceId();
      return sampled(traceId, parent) ? callSpan(spans, arrived, contextOf(traceId, parent)) : undefined;
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
}

/** Attributes that distinguish this node from others of the service. */
const node = () => ({
  "service.instance.id": randomUUID(),
  "telemetry.sdk.name": "postern",
  "telemetry.sdk.language": "nodejs",
});
