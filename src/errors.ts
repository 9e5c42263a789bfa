import { create, type DescMessage, type Message, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  LocalizedMessageSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";
import { errorText, type Language, text } from "./messages/catalogue.ts";

/** Every reason that this service can refuse for, with the code it is refused by. */
export const reasons = {
  UNAUTHENTICATED: Code.Unauthenticated,
  TOKEN_INVALID: Code.Unauthenticated,
  SIGN_IN_FAILED: Code.Unauthenticated,
  PERMISSION_DENIED: Code.PermissionDenied,
  VALIDATION_FAILED: Code.InvalidArgument,
  MALFORMED_BODY: Code.InvalidArgument,
  PAGE_TOKEN_INVALID: Code.InvalidArgument,
  POSITION_INVALID: Code.InvalidArgument,
  PASSWORD_MISMATCH: Code.InvalidArgument,
  PASSWORD_UNCHANGED: Code.InvalidArgument,
  PASSWORD_POLICY: Code.InvalidArgument,
  PASSWORD_REUSED: Code.InvalidArgument,
  PHONE_INVALID: Code.InvalidArgument,
  CODE_INVALID: Code.InvalidArgument,
  CODE_EXPIRED: Code.FailedPrecondition,
  CODE_ATTEMPTS: Code.ResourceExhausted,
  SEND_LIMIT: Code.ResourceExhausted,
  ROLE_UNKNOWN: Code.InvalidArgument,
  MEMBER_ROLE_SCOPE: Code.InvalidArgument,
  GRANT_TO_OWNER: Code.InvalidArgument,
  PROJECT_GRANT_NEEDED: Code.InvalidArgument,
  IDEMPOTENCY_KEY_REUSED: Code.InvalidArgument,
  SERVICE_NOT_FOUND: Code.NotFound,
  ORGANIZATION_NOT_FOUND: Code.NotFound,
  USER_NOT_FOUND: Code.NotFound,
  SESSION_NOT_FOUND: Code.NotFound,
  TOKEN_NOT_FOUND: Code.NotFound,
  PROJECT_NOT_FOUND: Code.NotFound,
  ROLE_NOT_FOUND: Code.NotFound,
  PROJECT_GRANT_NOT_FOUND: Code.NotFound,
  APPLICATION_NOT_FOUND: Code.NotFound,
  USER_GRANT_NOT_FOUND: Code.NotFound,
  MEMBER_NOT_FOUND: Code.NotFound,
  ORGANIZATION_NAME_TAKEN: Code.AlreadyExists,
  LOGIN_NAME_TAKEN: Code.AlreadyExists,
  PROJECT_NAME_TAKEN: Code.AlreadyExists,
  ROLE_TAKEN: Code.AlreadyExists,
  PROJECT_GRANT_EXISTS: Code.AlreadyExists,
  APPLICATION_NAME_TAKEN: Code.AlreadyExists,
  USER_GRANT_EXISTS: Code.AlreadyExists,
  MEMBER_EXISTS: Code.AlreadyExists,
  USER_NOT_HUMAN: Code.FailedPrecondition,
  USER_LOCKED: Code.FailedPrecondition,
  PASSWORD_MISSING: Code.FailedPrecondition,
  PHONE_UNCHANGED: Code.FailedPrecondition,
  PHONE_MISSING: Code.FailedPrecondition,
  PHONE_VERIFIED: Code.FailedPrecondition,
  CLIENT_SECRET_MISSING: Code.FailedPrecondition,
  LAST_OWNER: Code.FailedPrecondition,
  CONFLICT: Code.Aborted,
  UNKNOWN_PATH: Code.NotFound,
  METHOD_NOT_ALLOWED: Code.Unimplemented,
  UNIMPLEMENTED: Code.Unimplemented,
  UNSUPPORTED_CONTENT_TYPE: Code.Unimplemented,
  UNSUPPORTED_ENCODING: Code.Unimplemented,
  ENCODING_MISSING: Code.Internal,
  MALFORMED_REQUEST: Code.InvalidArgument,
  HTTP_VERSION_TOO_OLD: Code.Unimplemented,
  HEADERS_TOO_LARGE: Code.ResourceExhausted,
  BODY_TOO_LARGE: Code.ResourceExhausted,
  OVERLOADED: Code.ResourceExhausted,
  UNAVAILABLE: Code.Unavailable,
  OUTCOME_UNKNOWN: Code.Unavailable,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  CANCELLED: Code.Canceled,
  INTERNAL: Code.Internal,
} as const satisfies Record<string, Code>;

/** Why something was refused: stable, in UPPER_SNAKE. */
export type Reason = keyof typeof reasons;

/** The nouns that can be missing. */
export type Noun = { [R in Reason]: R extends `${infer N}_NOT_FOUND` ? Lowercase<N> : never }[Reason];

/** One field of a request that is wrong. */
export type Violation = {
  /** Its path as the JSON body spells it, with indexes: `items[3].roleKeys[0]`. */
  readonly field: string;
  readonly description: string;
  /** The rule that is broken, in UPPER_SNAKE, where it has a name. */
  readonly reason?: string;
};

/** What a message as a whole must keep, beside the rules of its fields. */
export type MessageRule = {
  readonly type: DescMessage;
  /** The fields that are weighed against each other: while one of them is wrong by itself, nothing is said. */
  readonly weighs: readonly string[];
  broken(message: Message): readonly Violation[];
};

/** Makes a rule of a message, which tells everything that is wrong. */
export function messageRule<D extends DescMessage>(
  type: D,
  broken: (message: MessageShape<D>) => readonly Violation[],
  weighs: readonly string[] = [],
): MessageRule {
  return { type, weighs, broken };
}

/** Whether one path leads to what another one names, or to a part of it. */
export const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);

/** How many violations a refusal lists; what comes after them is left out. */
export const mostViolations = 1000;

/** What a refusal tells beside its reason. */
export type Refusal = {
  /** What the text speaks of; also the metadata of ErrorInfo. */
  readonly params?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** The object that is missing, or that is in the way. */
  readonly resource?: { readonly noun: string; readonly id: string };
  readonly retrySeconds?: number;
  /** For the log only. */
  readonly cause?: unknown;
};

const domain = "postern";

/** Every "no" that this service says. */
export const refuse = {
  /** Refuses for a reason of the list. */
  because(reason: Reason, { params = {}, violations, resource, retrySeconds, cause }: Refusal = {}): ConnectError {
    const details = [
      detail(ErrorInfoSchema, { reason, domain, metadata: { ...params } }),
      ...(violations ? [detail(BadRequestSchema, { fieldViolations: violations.map(fieldViolation) })] : []),
      ...(resource
        ? [detail(ResourceInfoSchema, { resourceType: resource.noun, resourceName: resource.id, description: "" })]
        : []),
      ...(retrySeconds === undefined ? [] : [detail(RetryInfoSchema, { retryDelay: durationOf(retrySeconds) })]),
    ];
    return new ConnectError(errorText(reason, params), reasons[reason], undefined, details, cause);
  },

  /** The object does not exist, as far as the caller may know. */
  notFound(noun: Noun, id: string): ConnectError {
    const reason = `${noun.toUpperCase() as Uppercase<Noun>}_NOT_FOUND` as const;
    return refuse.because(reason, { params: { id }, resource: { noun, id } });
  },

  /** The request is wrong, in each of these fields; what is wrong with all of them is the reason, where it is one of ours. */
  invalid(all: readonly Violation[]): ConnectError {
    const violations = all.slice(0, mostViolations);
    const reason = violations[0]?.reason;
    if (reason && isReason(reason) && violations.every((one) => one.reason === reason))
      return refuse.because(reason, { violations });
    const params = { fields: violations.map(({ field }) => field).join(", ") };
    return refuse.because("VALIDATION_FAILED", { params, violations });
  },
};

/** Refuses a request unless nothing is wrong with it. */
export function refuseAny(violations: readonly Violation[]): void {
  if (violations.length > 0) throw refuse.invalid(violations);
}

const isReason = (name: string): name is Reason => name in reasons;

/** The reason of a refusal of ours; undefined for any other error. */
export function reasonOf(error: unknown): Reason | undefined {
  const reason = infoOf(error)?.reason;
  return reason !== undefined && isReason(reason) ? reason : undefined;
}

/** A code as gRPC spells it. */
export const codeName = (code: Code): string => (Code[code] ?? "").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();

/** The refusal with its text in the language as one more detail. */
export function localized(error: ConnectError, language: Language): ConnectError {
  const info = infoOf(error);
  if (!info || !isReason(info.reason) || error.details.some(isLocalized)) return error;
  const message = text(info.reason, language, info.metadata);
  error.details.push(detail(LocalizedMessageSchema, { locale: language, message }));
  return error;
}

/** The refusal as an answer that holds several outcomes carries it. */
export function statusOf({ code, rawMessage, details }: ConnectError) {
  const packed = details.map((one) =>
    "desc" in one
      ? anyPack(one.desc, create(one.desc, one.value))
      : { typeUrl: `type.googleapis.com/${one.type}`, value: one.value },
  );
  return create(StatusSchema, { code, message: rawMessage, details: packed });
}

/** The first error detail that names the reason. */
function infoOf(error: unknown) {
  return error instanceof ConnectError ? error.findDetails(ErrorInfoSchema)[0] : undefined;
}

function isLocalized(detail: ConnectError["details"][number]): boolean {
  return "desc" in detail && detail.desc.typeName === LocalizedMessageSchema.typeName;
}

function fieldViolation({ field, description, reason = "" }: Violation) {
  return { field, description, reason };
}

function durationOf(seconds: number) {
  const whole = Math.floor(seconds);
  return { seconds: BigInt(whole), nanos: Math.round((seconds - whole) * 1e9) };
}

// ConnectError serializes outgoing details when it is sent, so the typed message is kept as it is.
function detail<D extends DescMessage>(desc: D, value: MessageInitShape<D>) {
  return { desc, value: create(desc, value) };
}
