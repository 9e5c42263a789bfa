import { createRegistry, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  file_google_rpc_error_details,
  LocalizedMessageSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import type { Fields } from "./http.ts";

/** A refusal in the same words for every protocol. */
export type Refusal = {
  readonly code: string;
  readonly message: string;
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** Each wrong field, as `path REASON description`. */
  readonly violations: readonly string[] | undefined;
  readonly retrySeconds: number | undefined;
  /** The message in the language that was asked for. */
  readonly localized: string | undefined;
};

type Violation = { readonly field: string; readonly reason: string; readonly description: string };
const lineOf = ({ field, reason, description }: Violation) => `${field} ${reason} ${description}`;

/** The refusal that a call of Connect's clients ends with. */
export async function refusalOf(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => new Error("it was not refused"),
    (thrown) => thrown,
  );
  if (error instanceof ConnectError) return error;
  throw error;
}

/** Reads the error of Connect's clients. */
export function readError(error: ConnectError): Refusal {
  const [info] = error.findDetails(ErrorInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  return {
    code: Code[error.code],
    message: error.rawMessage,
    reason: info?.reason,
    metadata: info?.metadata,
    violations: bad?.fieldViolations.map(lineOf),
    retrySeconds: retry && Number(retry.retryDelay?.seconds),
    localized: error.findDetails(LocalizedMessageSchema)[0]?.message,
  };
}

type Problem = { readonly code?: unknown; readonly message?: unknown; readonly details?: unknown };
type Detail = { readonly "@type": string } & Readonly<Record<string, unknown>>;

/** Reads the JSON of a refusal over REST. */
export function readProblem({ code, message, details }: Problem): Refusal {
  const find = (type: string) => (details as Detail[]).find((one) => one["@type"].endsWith(type));
  const info = find("ErrorInfo");
  const violations = find("BadRequest")?.fieldViolations as Violation[] | undefined;
  const retry = find("RetryInfo");
  return {
    code: Code[Number(code)] ?? "",
    message: String(message),
    reason: info?.reason as string | undefined,
    metadata: info?.metadata as Refusal["metadata"],
    violations: violations?.map(lineOf),
    retrySeconds: retry && Number.parseInt(String(retry.retryDelay), 10),
    localized: find("LocalizedMessage")?.message as string | undefined,
  };
}

/** Reads the message `google.rpc.Status` out of headers or trailers of gRPC. */
export const readStatus = (fields: Fields): Status =>
  fromBinary(StatusSchema, Buffer.from(fields["grpc-status-details-bin"] ?? "", "base64"));

const registry = createRegistry(file_google_rpc_error_details);

/** The same as JSON, with its details. */
export const readStatusJson = (fields: Fields): JsonObject =>
  toJson(StatusSchema, readStatus(fields), { registry }) as JsonObject;

/** The code and the reason of a refusal in headers or trailers of gRPC, as `Code REASON`. */
export function codeAndReason(fields: Fields): string {
  const { code, details } = readStatus(fields);
  const [info] = details.flatMap((one) => anyUnpack(one, ErrorInfoSchema) ?? []);
  return `${Code[Number(fields["grpc-status"] ?? code)]} ${info?.reason ?? ""}`;
}
