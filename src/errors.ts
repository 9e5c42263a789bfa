import { create, type DescMessage, type Message, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import {
  countListed,
  type GatewayReason,
  infoOf,
  isDetail,
  maxListed,
  maxViolations,
  namedFields,
  type RefusalDetails,
  type Refuse,
  refusal,
  type Violation,
  withFewer,
} from "@postern/gateway";
import { LocalizedMessageSchema } from "../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";
import { errorText, type Language, type TextKey, type TextParams, text } from "./messages/catalogue.ts";

export { cutText, isWithin, maxTextLength, maxViolations, pathsAround, type Violation } from "@postern/gateway";

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
  PHONE_PREMIUM_RATE: Code.InvalidArgument,
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
  USER_INACTIVE: Code.FailedPrecondition,
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
} as const satisfies Record<string, Code> & Record<GatewayReason, Code>;

/** Why something was refused: stable, in UPPER_SNAKE. */
export type Reason = keyof typeof reasons;

/** The nouns that can be missing. */
export type Noun = { [R in Reason]: R extends `${infer N}_NOT_FOUND` ? Lowercase<N> : never }[Reason];

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

/** What a refusal tells beside its reason. */
export type Refusal = RefusalDetails;

const domain = "postern";

// RFC 6750, 3: constant, since the reason has a place of its own.
const challenge = { "www-authenticate": 'Bearer realm="postern"' };

/** Every "no" that this service says. */
export const refuse = {
  /** Refuses for a reason of the list. */
  because(reason: Reason, details: Refusal = {}): ConnectError {
    const kind = {
      domain,
      reason,
      code: reasons[reason],
      text: (params: TextParams) => errorText(textKeyOf(reason, params), params),
    };
    const { metadata } = details;
    const isUnauthenticated = kind.code === Code.Unauthenticated;
    return refusal(kind, isUnauthenticated ? { ...details, metadata: { ...challenge, ...metadata } } : details);
  },

  /** The object does not exist, as far as the caller may know. */
  notFound(noun: Noun, id: string): ConnectError {
    const reason = `${noun.toUpperCase() as Uppercase<Noun>}_NOT_FOUND` as const;
    return refuse.because(reason, { params: { id }, resource: { noun, id } });
  },

  /**
   * The request is wrong, in each of these fields; the reason that they share is the reason, where it is one of ours. A search
   * that found as many as it looks for has ended early.
   */
  invalid(violations: readonly Violation[], isPartial = violations.length >= maxViolations): ConnectError {
    const reason = violations[0]?.reason;
    if (reason && isReason(reason) && violations.every((one) => one.reason === reason))
      return refuse.because(reason, { violations, isPartial });
    const { fields, more } = namedFields(violations);
    const params = { fields, ...(more > 0 && { more: String(more) }) };
    return refuse.because("VALIDATION_FAILED", { params, violations, isPartial });
  },
};

/** Puts what the gateway refuses into our words. */
export const inOurWords: Refuse = (reason, details) =>
  reason === "VALIDATION_FAILED" && details.violations
    ? refuse.invalid(details.violations, details.isPartial)
    : refuse.because(reason, details);

/** Refuses a request unless nothing is wrong with it. */
export function refuseAny(violations: readonly Violation[]): void {
  if (violations.length > 0) throw refuse.invalid(violations);
}

const isReason = (name: string): name is Reason => Object.hasOwn(reasons, name);

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
  const message = text(textKeyOf(info.reason, info.metadata), language, info.metadata);
  error.details.push(detail(LocalizedMessageSchema, { locale: language, message }));
  return error;
}

/** Writes the refusals that one answer holds; all of them together list as many violations as one refusal may. */
export function statusWriter(): (error: ConnectError) => MessageShape<typeof StatusSchema> {
  let room = maxListed;
  return (error) => {
    const fitting = withFewer(error, room);
    room -= countListed(fitting);
    return statusOf(fitting);
  };
}

function statusOf({ code, rawMessage, details }: ConnectError) {
  const packed = details.map((one) =>
    "desc" in one
      ? anyPack(one.desc, create(one.desc, one.value))
      : { typeUrl: `type.googleapis.com/${one.type}`, value: one.value },
  );
  return create(StatusSchema, { code, message: rawMessage, details: packed });
}

const isLocalized = (one: ConnectError["details"][number]) => isDetail(one, LocalizedMessageSchema);

/** The text for a reason; that for a request with many wrong fields says how many it does not name. */
function textKeyOf(reason: Reason, params: TextParams): TextKey {
  if (reason !== "VALIDATION_FAILED" || params.more === undefined) return reason;
  return params.omittedIsLowerBound ? "VALIDATION_FAILED_AT_LEAST" : "VALIDATION_FAILED_AND_MORE";
}

// ConnectError serializes outgoing details when it is sent, so the typed message is kept as it is.
function detail<D extends DescMessage>(desc: D, value: MessageInitShape<D>) {
  return { desc, value: create(desc, value) };
}
