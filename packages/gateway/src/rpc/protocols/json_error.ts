import { create, isMessage } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { codeFromHttpStatus, codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { ErrorInfoSchema, RetryInfoSchema } from "../../../../../gen/google/rpc/error_details_pb.ts";
import { type Reason, reasonOf } from "../../../../../src/errors.ts";
import { encodeJson } from "../../codec/json.ts";

/** A refusal as plain JSON over HTTP. */
export type Problem = {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The error body: code, message and details. */
  readonly body: string;
};

/** Writes a refusal as the one JSON error body. */
export function problem(error: ConnectError): Problem {
  const details = error.details.flatMap((detail) => {
    if (!("desc" in detail)) return [];
    const message = isMessage(detail.value, detail.desc) ? detail.value : create(detail.desc, detail.value);
    return [{ "@type": `type.googleapis.com/${detail.desc.typeName}`, ...asObject(encodeJson(detail.desc, message)) }];
  });
  return {
    status: statusOf(error),
    contentType: contentTypeOf(error),
    headers: headersOf(error),
    body: JSON.stringify({ code: error.code, message: error.rawMessage, details }),
  };
}

const statuses: Readonly<Record<Code, number>> = {
  [Code.Canceled]: 499,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};

const statusesByReason: Partial<Record<Reason, number>> = {
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_CONTENT_TYPE: 415,
  UNSUPPORTED_ENCODING: 415,
  HEADERS_TOO_LARGE: 431,
  HTTP_VERSION_TOO_OLD: 505,
};

function statusOf(error: ConnectError): number {
  const reason = reasonOf(error);
  return (reason && statusesByReason[reason]) ?? statuses[error.code];
}

// What HTTP itself says: Connect has no code for it, and its clients make one of the status.
const saidByHttp: readonly (Reason | undefined)[] = ["UNKNOWN_PATH", "METHOD_NOT_ALLOWED", "UNSUPPORTED_CONTENT_TYPE"];

/** The HTTP status and the code of a refusal over unary Connect. */
export function connectStatusOf(error: ConnectError): { readonly status: number; readonly code: Code } {
  if (!saidByHttp.includes(reasonOf(error))) return { status: codeToHttpStatus(error.code), code: error.code };
  const status = statusOf(error);
  return { status, code: codeFromHttpStatus(status) };
}

// Who sent another type may speak Connect, whose suite takes the bare type, beside such a status, for an error of Connect's own.
const contentTypeOf = (error: ConnectError) =>
  reasonOf(error) === "UNSUPPORTED_CONTENT_TYPE" ? "application/json; charset=utf-8" : "application/json";

/** The headers that go with a refusal, on the doors whose refusals are HTTP. */
export function headersOf(error: ConnectError): Record<string, string> {
  const allow = reasonOf(error) === "METHOD_NOT_ALLOWED" && error.findDetails(ErrorInfoSchema)[0]?.metadata.allow;
  const retry = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return {
    ...(error.code === Code.Unauthenticated && { "www-authenticate": 'Bearer realm="postern"' }),
    ...(allow && { allow }),
    ...(retry && { "retry-after": String(Number(retry.seconds) + (retry.nanos > 0 ? 1 : 0)) }),
  };
}

const asObject = (value: unknown) => (typeof value === "object" && value !== null ? value : { value });
