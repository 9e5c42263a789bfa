import { channel } from "node:diagnostics_channel";
import type { Spans } from "./call_span.ts";
import type { Attributes } from "./span.ts";
import { childOf, type SpanContext, timeAt } from "./span_context.ts";
import type { Summary } from "./statement.ts";

/** The spans of a statement, one for each call that it serves. */
export type StatementSpan = { readonly sent: () => void; readonly ended: (error?: unknown) => void };

/** Makes a statement's spans before it is sent. */
export function statementSpan(
  { take }: Spans,
  { operation, summary }: Summary,
  calls: readonly SpanContext[],
): StatementSpan {
  let spans: readonly { readonly context: SpanContext; readonly from: number }[] = [];
  return {
    sent() {
      spans = calls.map((call) => ({ context: childOf(call), from: timeAt(call) }));
    },
    ended(error) {
      const failure = error === undefined ? undefined : codeOf(error);
      const attributes = {
        ...database,
        "db.operation.name": operation,
        "db.query.summary": summary,
        ...failureAttributes(failure),
      };
      const about = { kind: "client", name: summary, failed: failure !== undefined } as const;
      const shared = calls.length > 1 ? { ...attributes, "postern.calls": calls.length } : attributes;
      for (const { context, from } of spans)
        take({ ...context, ...about, from, to: timeAt(context), attributes: shared });
    },
  };
}

// https://opentelemetry.io/docs/specs/semconv/db/postgresql/
const database: Attributes = { "db.system.name": "postgresql" };

const failureAttributes = (failure: string | undefined): Attributes =>
  failure === undefined ? {} : { "error.type": failure, "db.response.status_code": failure };

// The error's text is left out, because it can contain values.
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** Attributes a shared statement to every call that waits for it: batches publish their jobs on these channels. */
export function shareStatements(calls: Spans["calls"]): Disposable {
  const [waits, runs] = [channel("postern.batch.waits"), channel("postern.batch.runs")];
  const contexts = new WeakMap<object, readonly SpanContext[]>();
  const remember = (waiting: unknown) => {
    const here = calls.getStore();
    if (here && isObject(waiting)) contexts.set(waiting, here);
  };
  waits.subscribe(remember);
  runs.bindStore(calls, (batch) => (Array.isArray(batch) ? batch.flatMap((one) => contexts.get(one) ?? []) : []));
  return {
    [Symbol.dispose]() {
      waits.unsubscribe(remember);
      runs.unbindStore(calls);
    },
  };
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
