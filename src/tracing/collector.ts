import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ExportTraceServiceResponseSchema, TracesDataSchema } from "../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { type Attributes, type Ended, keyValues, otlpSpan } from "./span.ts";

/** The collector of spans. */
export type Collector = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of every span that identify this node. */
  readonly resource: Attributes;
};

/** Sends spans; returns how many of them the collector accepted. */
export type Hand = (spans: readonly Ended[], signal: AbortSignal) => Promise<number>;

/** The collector did not accept spans. */
export class NotTaken extends Error {
  override readonly name = "NotTaken";
  readonly permanent: boolean;
  readonly retryMs: number;

  constructor(message: string, { permanent = false, retryMs = 0 } = {}) {
    super(message);
    this.permanent = permanent;
    this.retryMs = retryMs;
  }
}

/** Posts spans using OTLP over HTTP. https://opentelemetry.io/docs/specs/otlp/#otlphttp */
export function collector({ url, headers, resource }: Collector): Hand {
  const about = { resource: { attributes: keyValues(resource) } };
  return async (spans, signal) => {
    const scopeSpans = [{ scope: { name: "postern" }, spans: spans.map(otlpSpan) }];
    const body = toBinary(TracesDataSchema, create(TracesDataSchema, { resourceSpans: [{ ...about, scopeSpans }] }));
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      signal,
      body: new Uint8Array(body),
      headers: { ...headers, "content-type": "application/x-protobuf" },
    }).catch(unreached);
    const answer = await response.bytes().catch(() => new Uint8Array());
    if (!response.ok) throw refusedWith(response);
    return spans.length - rejectedIn(response, answer);
  };
}

function unreached(error: Error): never {
  const { cause = error } = error;
  const why = cause instanceof Error ? ("code" in cause ? cause.code : cause.message) : cause;
  throw new NotTaken(`it cannot be reached (${why})`);
}

const worthAnotherTry = [429, 502, 503, 504];

function refusedWith({ status, headers }: Response): NotTaken {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const retryMs = seconds > 0 ? seconds * 1000 : 0;
  return new NotTaken(`it answered ${status}`, { permanent: !worthAnotherTry.includes(status), retryMs });
}

/** Reads how many spans the collector rejected; 0 if the response has another form. */
function rejectedIn({ headers }: Response, answer: Uint8Array): number {
  if (!headers.get("content-type")?.startsWith("application/x-protobuf")) return 0;
  try {
    return Number(fromBinary(ExportTraceServiceResponseSchema, answer).partialSuccess?.rejectedSpans ?? 0n);
  } catch {
    return 0;
  }
}
