import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { HeaderFields } from "../header_fields.ts";
import { cutText, type Describe, listed, type Violation } from "./violation.ts";

/** The details of an error besides its reason. */
export type RefusalDetails<Key extends string = string> = {
  /** The parameters of the text, which are also the metadata of ErrorInfo. */
  readonly params?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation<Key>[];
  /** Whether the search for violations stopped early, so that there may be more. */
  readonly isPartial?: boolean;
  /** The missing or conflicting object. */
  readonly resource?: { readonly noun: string; readonly id: string };
  readonly retrySeconds?: number;
  /** Headers or trailers of the error. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** For the log only. */
  readonly cause?: unknown;
};

/** An error's domain and reason (stable, in UPPER_SNAKE), its code and its texts. */
export type RefusalKind<Key extends string> = {
  readonly domain: string;
  readonly reason: string;
  readonly code: Code;
  readonly text: (metadata: Readonly<Record<string, string>>) => string;
  readonly describe: Describe<Key>;
};

/** Makes an error whose texts and lists are cut to fit into a response. */
export function refusal<Key extends string>(kind: RefusalKind<Key>, details: RefusalDetails<Key>): ConnectError {
  const { domain, reason, code, text } = kind;
  const { params, violations, isPartial, resource, retrySeconds, cause } = details;
  const list = violations && listed(violations, kind.describe);
  const omitted = (violations?.length ?? 0) - (list?.length ?? 0);
  const metadata = { ...cutParams(params), ...omission(omitted, isPartial) };
  const outgoing = [
    detail(ErrorInfoSchema, { reason, domain, metadata }),
    ...(list ? [detail(BadRequestSchema, { fieldViolations: list })] : []),
    ...(resource
      ? [detail(ResourceInfoSchema, { resourceType: resource.noun, resourceName: cutText(resource.id) })]
      : []),
    ...(retrySeconds === undefined ? [] : [detail(RetryInfoSchema, { retryDelay: durationOf(retrySeconds) })]),
  ];
  const fields = Object.entries(details.metadata ?? {});
  return connectError({ text: text(metadata), code, fields, details: outgoing, cause });
}

type ErrorParts = {
  readonly text: string;
  readonly code: Code;
  /** Headers or trailers of the error. */
  readonly fields?: Iterable<readonly [string, string]>;
  readonly details: Detail[];
  readonly cause: unknown;
};

/**
 * Makes a ConnectError as its constructor does, but with our headers: Node's load undici, which takes 25 ms and 8 MB for a process's first
 * error. It has no stack, which is never read and costs more than everything else about the error.
 */
function connectError({ text, code, fields = [], details, cause }: ErrorParts): ConnectError {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error: Error = Reflect.construct(Error, [`[${nameOf(code)}] ${text}`], ConnectError);
  Error.stackTraceLimit = stackTraceLimit;
  const metadata = new HeaderFields();
  for (const [name, value] of fields) metadata.append(name, value);
  const own = { name: "ConnectError", isWireError: false, rawMessage: text, code, metadata, details, cause };
  return Object.assign(error as ConnectError, own);
}

const nameOf = (code: Code) => Code[code].replace(/(?<=.)[A-Z]/g, "_$&").toLowerCase();

/** The ErrorInfo of an error, which names its reason; undefined for any other error. */
export function infoOf(error: unknown) {
  return error instanceof ConnectError ? error.findDetails(ErrorInfoSchema)[0] : undefined;
}

/** The number of violations that an error lists. */
export const countListed = (error: ConnectError): number => listedIn(error).length;

/** The error with at most this many violations; its metadata contains the number of omitted ones. */
export function withFewer(error: ConnectError, maxListed: number): ConnectError {
  const list = listedIn(error);
  if (list.length <= maxListed) return error;
  const { reason = "", domain = "", metadata = {} } = infoOf(error) ?? {};
  const omitted = String(Number(metadata.omitted ?? 0) + list.length - maxListed);
  const details = error.details.flatMap((one) => {
    if (isDetail(one, ErrorInfoSchema))
      return detail(ErrorInfoSchema, { reason, domain, metadata: { ...metadata, omitted } });
    if (!isDetail(one, BadRequestSchema)) return one;
    return maxListed > 0 ? detail(BadRequestSchema, { fieldViolations: list.slice(0, maxListed) }) : [];
  });
  return withDetails(error, details);
}

/** The error with only its reason and a shortened text. */
export function withReasonOnly(error: ConnectError): ConnectError {
  const { reason = "", domain = "" } = infoOf(error) ?? {};
  const details = reason === "" ? [] : [detail(ErrorInfoSchema, { reason, domain })];
  return connectError({ text: cutText(error.rawMessage), code: error.code, details, cause: error });
}

const listedIn = (error: ConnectError) => error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];

type Detail = ConnectError["details"][number];

/** Whether a detail of an outgoing error has this type. */
export const isDetail = (one: Detail, { typeName }: DescMessage): one is Extract<Detail, { desc: DescMessage }> =>
  "desc" in one && one.desc.typeName === typeName;

/** The error with other details. */
export function withDetails({ rawMessage, code, metadata, cause }: ConnectError, details: Detail[]): ConnectError {
  return connectError({ text: rawMessage, code, fields: metadata, details, cause });
}

/** The number of omitted violations, for programs; empty if none is omitted. */
function omission(omitted: number, isPartial = false): Readonly<Record<string, string>> {
  if (omitted === 0 && !isPartial) return {};
  return { omitted: String(omitted), ...(isPartial && { omittedIsLowerBound: "true" }) };
}

const cutParams = (params: RefusalDetails["params"] = {}) =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, cutText(value)]));

function durationOf(seconds: number) {
  const whole = Math.floor(seconds);
  return { seconds: BigInt(whole), nanos: Math.round((seconds - whole) * 1e9) };
}

// ConnectError serializes outgoing details when it is sent, so the typed message is kept as it is.
function detail<D extends DescMessage>(desc: D, value: MessageInitShape<D>) {
  return { desc, value: create(desc, value) };
}
