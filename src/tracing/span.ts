import { create } from "@bufbuild/protobuf";
import {
  type KeyValue,
  KeyValueSchema,
  type Span,
  Span_SpanKind as SpanKind,
  SpanSchema,
  Status_StatusCode as StatusCode,
} from "../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";

/** Attributes of a span. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An ended span; times are Unix time in milliseconds. */
export type Ended = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  /** Whether the parent belongs to another process. */
  readonly remote: boolean;
  readonly state: string;
  readonly kind: "server" | "client";
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
};

/** Converts attributes to OTLP, omitting those without a value. */
export function keyValues(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [keyValue(key, value)]));
}

function keyValue(key: string, value: string | number): KeyValue {
  const one =
    typeof value === "string"
      ? ({ case: "stringValue", value } as const)
      : ({ case: "intValue", value: BigInt(value) } as const);
  return create(KeyValueSchema, { key, value: { value: one } });
}

/** Converts a span to OTLP. */
export function otlpSpan({ traceId, spanId, parentId, state, kind, name, ...span }: Ended): Span {
  return create(SpanSchema, {
    traceId: Buffer.from(traceId, "hex"),
    spanId: Buffer.from(spanId, "hex"),
    parentSpanId: Buffer.from(parentId, "hex"),
    traceState: state,
    name,
    kind: kind === "server" ? SpanKind.SERVER : SpanKind.CLIENT,
    startTimeUnixNano: nanoseconds(span.from),
    endTimeUnixNano: nanoseconds(span.to),
    attributes: keyValues(span.attributes),
    flags: sampled | knownParent | (span.remote ? remoteParent : 0),
    ...(span.failed ? { status: { code: StatusCode.ERROR } } : {}),
  });
}

const [sampled, knownParent, remoteParent] = [0x1, 0x100, 0x200];

// Today's Unix time in milliseconds takes 41 bits of a double, which leaves 12 for fractions, so nanoseconds would be made up.
const nanoseconds = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1000)) * 1000n;
