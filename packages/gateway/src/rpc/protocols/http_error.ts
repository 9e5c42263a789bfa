import { Code, type ConnectError } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { type GatewayReason, gatewayReasons } from "../../errors/gateway_error.ts";
import { infoOf } from "../../errors/refusal.ts";
import { codeFromHttpStatus, codeToHttpStatus } from "./connect_es.ts";

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

const statusesByReason: Partial<Record<GatewayReason, number>> = {
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_CONTENT_TYPE: 415,
  UNSUPPORTED_ENCODING: 415,
  HEADERS_TOO_LARGE: 431,
  HTTP_VERSION_TOO_OLD: 505,
};

/** The HTTP status of an error. */
export function httpStatusOf(error: ConnectError): number {
  const reason = reasonOf(error);
  return (reason && statusesByReason[reason]) ?? statuses[error.code];
}

// HTTP has a status for these but Connect has no code, so its clients derive a code from the status.
const refusedByHttp: readonly (GatewayReason | undefined)[] = [
  "UNKNOWN_PATH",
  "METHOD_NOT_ALLOWED",
  "UNSUPPORTED_CONTENT_TYPE",
];

/** The HTTP status and the code of an error over unary Connect. */
export function connectStatusOf(error: ConnectError): { readonly status: number; readonly code: Code } {
  if (!refusedByHttp.includes(reasonOf(error))) return { status: codeToHttpStatus(error.code), code: error.code };
  const status = httpStatusOf(error);
  return { status, code: codeFromHttpStatus(status) };
}

/** The headers of an error in a protocol that reports errors by HTTP status. */
export function httpFieldsOf(error: ConnectError): Record<string, string> {
  const { allow, supported } = infoOf(error)?.metadata ?? {};
  const reason = reasonOf(error);
  const retry = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return {
    ...(allow && reason === "METHOD_NOT_ALLOWED" && { allow }),
    // https://www.w3.org/TR/ldp/#header-accept-post
    ...(supported && reason === "UNSUPPORTED_CONTENT_TYPE" && { "accept-post": supported }),
    ...(retry && { "retry-after": String(Number(retry.seconds) + (retry.nanos > 0 ? 1 : 0)) }),
  };
}

const reasons = new WeakMap<ConnectError, GatewayReason>();

/** Records the gateway's reason for an error, whatever details its texts add. */
export function withReason(error: ConnectError, reason: GatewayReason): ConnectError {
  reasons.set(error, reason);
  return error;
}

/** The gateway's reason for an error; undefined for other reasons. */
export function reasonOf(error: ConnectError): GatewayReason | undefined {
  const reason = reasons.get(error) ?? infoOf(error)?.reason;
  return reason !== undefined && isReason(reason) ? reason : undefined;
}

const isReason = (reason: string): reason is GatewayReason => Object.hasOwn(gatewayReasons, reason);
