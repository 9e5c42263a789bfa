import type { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Ended } from "./span.ts";
import { type SpanContext, timeAt } from "./span_context.ts";

/** A call on arrival. */
export type Arrived = {
  /** The rpc, such as `postern.v1.UserService/GetUser`; undefined if the call is for something else. */
  readonly operation: string | undefined;
  readonly door: "grpc" | "grpc_web" | "connect" | "json";
  readonly requestId: string;
};

/** How a call ended. */
export type CallOutcome = { readonly code: string; readonly reason?: string | undefined };

/** The span of a call; the statements that it sends become its children. */
export type CallSpan = {
  readonly run: <T>(work: () => T) => T;
  readonly each: <T>(answers: AsyncIterable<T>) => AsyncIterable<T>;
  readonly ended: (outcome: CallOutcome) => void;
};

/** The current calls by asynchronous context, and the function that receives ended spans. */
export type Spans = { readonly calls: AsyncLocalStorage<readonly SpanContext[]>; readonly take: (span: Ended) => void };

export function callSpan({ calls, take }: Spans, arrived: Arrived, context: SpanContext): CallSpan {
  const from = timeAt(context);
  const here = [context];
  return {
    run: (work) => calls.run(here, work),
    each: (answers) => ({
      [Symbol.asyncIterator]() {
        const within = answers[Symbol.asyncIterator]();
        return {
          next: () => calls.run(here, () => within.next()),
          return: async (value) => (await within.return?.(value)) ?? { done: true, value },
        };
      },
    }),
    ended(outcome) {
      const failed = faults.has(outcome.code);
      const attributes = attributesOf(arrived, outcome, failed);
      take({
        ...context,
        kind: "server",
        name: arrived.operation ?? "unknown",
        from,
        to: timeAt(context),
        attributes,
        failed,
      });
    },
  };
}

const systems = { grpc: "grpc", grpc_web: "grpc", connect: "connectrpc", json: "json" } as const;

// https://opentelemetry.io/docs/specs/semconv/rpc/
function attributesOf(
  { operation, door, requestId }: Arrived,
  { code, reason }: CallOutcome,
  failed: boolean,
): Attributes {
  return {
    "rpc.system.name": systems[door],
    "rpc.method": operation ?? "_OTHER",
    "rpc.response.status_code": code,
    "error.type": failed ? code : undefined,
    "postern.door": door,
    "postern.reason": reason,
    "postern.request_id": requestId,
  };
}

// OpenTelemetry counts these codes as server errors: https://opentelemetry.io/docs/specs/semconv/rpc/grpc/
const faults: ReadonlySet<string> = new Set([
  ...["UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"],
]);
