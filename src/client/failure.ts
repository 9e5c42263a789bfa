import { isMessage, type JsonObject, type JsonValue, type Registry, toJson } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { ownContract } from "./contract.ts";

type FailureOptions = {
  readonly code: Code;
  readonly message: string;
  /** The details of the error as proto3 JSON. */
  readonly details?: readonly JsonObject[];
  readonly requestId?: string | undefined;
};

/** A failed call, in one form for all protocols. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: Code;
  readonly details: readonly JsonObject[];
  readonly requestId: string | undefined;

  constructor({ code, message, details = [], requestId }: FailureOptions) {
    super(message);
    this.code = code;
    this.details = details;
    this.requestId = requestId;
  }
}

/** An error from an rpc protocol. */
export function failureOf(error: ConnectError, types: Registry = ownContract.types): Failure {
  const details = error.findDetails(types).flatMap((detail): JsonObject[] => {
    const type = types.getMessage(detail.$typeName);
    if (!type || !isMessage(detail, type)) return [];
    return [{ "@type": `type.googleapis.com/${detail.$typeName}`, ...(toJson(type, detail) as JsonObject) }];
  });
  const requestId = error.metadata.get("x-request-id") ?? undefined;
  return new Failure({ code: error.code, message: causeOf(error), details, requestId });
}

/** A REST error: google.rpc.Status as JSON. */
export function statusFailure({ code, message, details }: JsonObject, requestId: string | undefined): Failure {
  const known = typeof code === "number" && code in Code ? code : Code.Unknown;
  const all = Array.isArray(details) ? details.filter(isObject) : [];
  return new Failure({ code: known, message: String(message ?? "no reason is given"), details: all, requestId });
}

/** A connection that failed or was aborted. */
export function networkFailure(error: Error): Failure {
  const isLate = error.cause instanceof Error && error.cause.name === "TimeoutError";
  if (isLate) return new Failure({ code: Code.DeadlineExceeded, message: "no response came in time" });
  return new Failure({
    code: error.name === "AbortError" ? Code.Canceled : Code.Unavailable,
    message: networkText(error),
  });
}

/** A request that cannot be sent. */
export function requestFailure(message: string): Failure {
  return new Failure({ code: Code.InvalidArgument, message });
}

/** A response that does not come from our service. */
export function serviceFailure(message: string): Failure {
  return new Failure({ code: Code.Unknown, message });
}

/** The text of an error; a network error is the cause of a Connect error. */
function causeOf({ rawMessage, cause }: ConnectError): string {
  return cause instanceof Error && "code" in cause ? networkText(cause) : rawMessage;
}

// An error over several addresses has no text of its own.
function networkText(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return error.message || `the service cannot be reached (${code ?? error.name})`;
}

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A failure as JSON: google.rpc.Status with the name of its code. */
export function failureJson({ code, message, details, requestId }: Failure): JsonObject {
  const id = requestId === undefined ? {} : { requestId };
  return { code, status: nameOf(code), message, details: [...details], ...id };
}

/** A failure as lines for people: code and reason, each invalid field, when to retry, and the request id. */
export function failureLines({ code, message, details, requestId }: Failure): readonly string[] {
  const textIn = (name: string) => details.map((detail) => detail[name]).find((value) => typeof value === "string");
  const reason = textIn("reason");
  const fields = details.flatMap(({ fieldViolations }) => (Array.isArray(fieldViolations) ? fieldViolations : []));
  const retry = textIn("retryDelay");
  return [
    `${nameOf(code)}${reason ? ` ${reason}` : ""}: ${message}`,
    ...fields.filter(isObject).map(({ field, description }) => `  ${field}: ${description}`),
    ...(retry ? [`  try again in ${retry}`] : []),
    ...(requestId ? [`  request ${requestId}`] : []),
  ].map(withoutControls);
}

const nameOf = (code: Code): string =>
  (Code[code] ?? `CODE_${code}`).replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();

/** A text without control characters, which a terminal would obey. */
export const withoutControls = (text: string): string => text.replaceAll(/\p{Cc}/gu, "\ufffd");
