import { Code, type ConnectError } from "@connectrpc/connect";
import { type Problem, problemTexts } from "./problem_texts.ts";
import { type RefusalDetails, refusal } from "./refusal.ts";
import { maxViolations, namedFields, type TextParams, type Violation } from "./violation.ts";
import { type ViolationKey, violationTexts } from "./violation_texts.ts";

/** The reasons of the gateway's own errors, with their codes. */
export const gatewayReasons = {
  VALIDATION_FAILED: Code.InvalidArgument,
  MALFORMED_BODY: Code.InvalidArgument,
  MALFORMED_REQUEST: Code.InvalidArgument,
  SERVICE_NOT_FOUND: Code.NotFound,
  UNKNOWN_PATH: Code.NotFound,
  METHOD_NOT_ALLOWED: Code.Unimplemented,
  UNIMPLEMENTED: Code.Unimplemented,
  UNSUPPORTED_CONTENT_TYPE: Code.Unimplemented,
  UNSUPPORTED_ENCODING: Code.Unimplemented,
  ENCODING_MISSING: Code.Internal,
  HTTP_VERSION_TOO_OLD: Code.Unimplemented,
  HEADERS_TOO_LARGE: Code.ResourceExhausted,
  BODY_TOO_LARGE: Code.ResourceExhausted,
  OVERLOADED: Code.ResourceExhausted,
  UNAVAILABLE: Code.Unavailable,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  CANCELLED: Code.Canceled,
  INTERNAL: Code.Internal,
} as const satisfies Record<string, Code>;

export type GatewayReason = keyof typeof gatewayReasons;

/** An error of the gateway, before it gets a text. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly reason: GatewayReason;
  readonly details: RefusalDetails;

  constructor(reason: GatewayReason, details: RefusalDetails = {}) {
    // This stack is never read, and costs more than everything else about the error.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(reason, { cause: details.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.reason = reason;
    this.details = details;
  }
}

/** The error for invalid fields; `isPartial` if the search for them stopped early. */
export const invalid = (
  violations: readonly Violation<string>[],
  isPartial = violations.length >= maxViolations,
): GatewayError => new GatewayError("VALIDATION_FAILED", { violations, isPartial });

/** The error for a message that exceeds its rpc's limit, naming the limit. */
export const tooLarge = (maxBytes: number, cause?: unknown): GatewayError =>
  new GatewayError("BODY_TOO_LARGE", { params: { limit: String(maxBytes) }, cause });

/** The error for lack of memory; the client may retry. */
export const overloaded = (): GatewayError => new GatewayError("OVERLOADED", { retrySeconds: 1 });

/** Makes the final error with its text from a gateway error. */
export type Refuse = (reason: GatewayReason, details: RefusalDetails) => ConnectError;

/** The text of each reason, of each more specific problem, and of each violation; `{name}` stands for a parameter. */
export type Texts = Readonly<Record<GatewayReason | Problem | ViolationKey, string>>;

/** The default texts. */
export const englishTexts: Texts = {
  VALIDATION_FAILED: "the request is not valid: {fields}",
  MALFORMED_BODY: "the request body cannot be read",
  MALFORMED_REQUEST: "the request cannot be read",
  SERVICE_NOT_FOUND: "there is no service {id}",
  UNKNOWN_PATH: "there is nothing at this path",
  METHOD_NOT_ALLOWED: "this path takes other methods: {allow}",
  UNIMPLEMENTED: "there is no such method",
  UNSUPPORTED_CONTENT_TYPE: "the content type is not supported here, but these are: {supported}",
  UNSUPPORTED_ENCODING: "the encoding of the request is not supported",
  ENCODING_MISSING: "a message is compressed, and no header says how",
  HTTP_VERSION_TOO_OLD: "gRPC needs HTTP/2",
  HEADERS_TOO_LARGE: "the headers are too large",
  BODY_TOO_LARGE: "the message has more than {limit} bytes",
  OVERLOADED: "the server is busy, please try again",
  UNAVAILABLE: "the server cannot answer now",
  DEADLINE_EXCEEDED: "the deadline of the call is over",
  CANCELLED: "the call was canceled",
  INTERNAL: "something went wrong on the server",
  ...problemTexts,
  ...violationTexts,
};

/** Makes errors from a table of texts, in a domain of ErrorInfo. */
export function refuseWith({ domain, texts }: { readonly domain: string; readonly texts: Texts }): Refuse {
  return (reason, details) => {
    const { violations = [] } = details;
    const params =
      violations.length > 0 ? { fields: namedFields(violations).fields, ...details.params } : details.params;
    const text = (metadata: TextParams) => filled(texts[textKeyOf(reason, metadata)], metadata);
    const describe = (one: Violation<string>) =>
      filled(hasText(texts, one.text) ? texts[one.text] : one.text, one.params);
    const kind = { domain, reason, code: gatewayReasons[reason], text, describe };
    return refusal(kind, { ...details, ...(params && { params }) });
  };
}

const hasText = (texts: Texts, key: string): key is keyof Texts => Object.hasOwn(texts, key);

const filled = (text: string, params: TextParams = {}) =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? ""));

/** The key of the most specific text: a problem in the parameters says more than the reason. */
function textKeyOf(reason: GatewayReason, { problem = "" }: TextParams): keyof Texts {
  return isProblem(problem) ? problem : reason;
}

const isProblem = (name: string | number): name is Problem => Object.hasOwn(problemTexts, name);
