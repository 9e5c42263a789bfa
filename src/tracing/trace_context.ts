/** The caller's span, which the call continues. */
export type Parent = {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  /** Other systems' `tracestate`, to be propagated. */
  readonly state: string;
};

/** The caller's span by W3C Trace Context; undefined if the headers name none. https://www.w3.org/TR/trace-context/ */
export function parentIn(headers: Pick<Headers, "get">): Parent | undefined {
  const written = headers.get("traceparent")?.trim() ?? "";
  const [, version, traceId = "", spanId = "", flags = "", more] = traceparent.exec(written) ?? [];
  // Later versions may add fields after a dash; ff is not a version.
  if (!version || version === "ff" || (version === "00" && more)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const state = headers.get("tracestate") ?? "";
  const sampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, sampled, state: /^[ -~]{1,512}$/.test(state) ? state : "" };
}

const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
