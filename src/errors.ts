import { create, type DescMessage, type Message, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import {
  countListed,
  fittingMessages,
  type GatewayReason,
  type Violation as GatewayViolation,
  infoOf,
  isDetail,
  maxListed,
  maxViolations,
  namedFields,
  pathsAround,
  type RefusalDetails,
  type Refuse,
  refusal,
  type ViolationKey,
  withFewer,
} from "@postern/gateway";
import { BadRequestSchema, LocalizedMessageSchema } from "../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";
import { errorText, isTextKey, type Language, type TextKey, type TextParams, text } from "./messages/catalogue.ts";

export { cutText, isWithin, maxTextLength, maxViolations, pathsAround } from "@postern/gateway";

/** An invalid field of a request, with the text that explains it. The gateway reports its own violations with our texts. */
export type Violation = GatewayViolation<TextKeyWith<ViolationKey>>;

/** The compiler rejects gateway keys for which we have no text. */
type TextKeyWith<Keys extends TextKey> = TextKey | Keys;

/** A field found to be invalid. */
export type WrongField = Pick<Violation, "field">;

/** Every error reason with its code. */
export const reasons = {
  UNAUTHENTICATED: Code.Unauthenticated,
  TOKEN_INVALID: Code.Unauthenticated,
  TOKEN_IS_JWT: Code.Unauthenticated,
  SIGN_IN_FAILED: Code.Unauthenticated,
  PERMISSION_DENIED: Code.PermissionDenied,
  FACTOR_ENROLMENT_REQUIRED: Code.PermissionDenied,
  OWN_ACCOUNT_IN_CONSOLE: Code.PermissionDenied,
  VALIDATION_FAILED: Code.InvalidArgument,
  MALFORMED_BODY: Code.InvalidArgument,
  PAGE_TOKEN_INVALID: Code.InvalidArgument,
  POSITION_INVALID: Code.InvalidArgument,
  POSITION_LOST: Code.FailedPrecondition,
  PASSWORD_MISMATCH: Code.InvalidArgument,
  PASSWORD_UNCHANGED: Code.InvalidArgument,
  PASSWORD_POLICY: Code.InvalidArgument,
  PASSWORD_REUSED: Code.InvalidArgument,
  PHONE_INVALID: Code.InvalidArgument,
  PHONE_PREMIUM_RATE: Code.InvalidArgument,
  EMAIL_INVALID: Code.InvalidArgument,
  DOMAIN_INVALID: Code.InvalidArgument,
  RESOURCE_URI_INVALID: Code.InvalidArgument,
  RESOURCE_URI_ISSUER: Code.InvalidArgument,
  CODE_INVALID: Code.InvalidArgument,
  CHALLENGE_INVALID: Code.InvalidArgument,
  PASSKEY_INVALID: Code.InvalidArgument,
  PASSWORD_ATTEMPTS: Code.ResourceExhausted,
  CODE_EXPIRED: Code.FailedPrecondition,
  CODE_ATTEMPTS: Code.ResourceExhausted,
  FACTOR_ATTEMPTS: Code.ResourceExhausted,
  SEND_LIMIT: Code.ResourceExhausted,
  RATE_LIMIT: Code.ResourceExhausted,
  ROLE_UNKNOWN: Code.InvalidArgument,
  MEMBER_ROLE_SCOPE: Code.InvalidArgument,
  GRANT_TO_OWNER: Code.InvalidArgument,
  OWN_ORGANIZATION: Code.InvalidArgument,
  PROJECT_GRANT_NEEDED: Code.InvalidArgument,
  IDEMPOTENCY_KEY_REUSED: Code.InvalidArgument,
  SERVICE_NOT_FOUND: Code.NotFound,
  ORGANIZATION_NOT_FOUND: Code.NotFound,
  USER_NOT_FOUND: Code.NotFound,
  SESSION_NOT_FOUND: Code.NotFound,
  TOKEN_NOT_FOUND: Code.NotFound,
  FACTOR_NOT_FOUND: Code.NotFound,
  PROJECT_NOT_FOUND: Code.NotFound,
  ROLE_NOT_FOUND: Code.NotFound,
  PROJECT_GRANT_NOT_FOUND: Code.NotFound,
  JOB_NOT_FOUND: Code.NotFound,
  SUBSCRIPTION_NOT_FOUND: Code.NotFound,
  DELIVERY_NOT_FOUND: Code.NotFound,
  DOMAIN_NOT_FOUND: Code.NotFound,
  INVITATION_NOT_FOUND: Code.NotFound,
  APPLICATION_NOT_FOUND: Code.NotFound,
  APPLICATION_KEY_NOT_FOUND: Code.NotFound,
  MACHINE_CREDENTIAL_NOT_FOUND: Code.NotFound,
  USER_GRANT_NOT_FOUND: Code.NotFound,
  MEMBER_NOT_FOUND: Code.NotFound,
  CONNECTION_NOT_FOUND: Code.NotFound,
  ORGANIZATION_NAME_TAKEN: Code.AlreadyExists,
  LOGIN_NAME_TAKEN: Code.AlreadyExists,
  PROJECT_NAME_TAKEN: Code.AlreadyExists,
  ROLE_TAKEN: Code.AlreadyExists,
  PROJECT_GRANT_EXISTS: Code.AlreadyExists,
  APPLICATION_NAME_TAKEN: Code.AlreadyExists,
  APPLICATION_KEY_EXISTS: Code.AlreadyExists,
  MACHINE_KEY_EXISTS: Code.AlreadyExists,
  USER_GRANT_EXISTS: Code.AlreadyExists,
  MEMBER_EXISTS: Code.AlreadyExists,
  FACTOR_EXISTS: Code.AlreadyExists,
  DOMAIN_EXISTS: Code.AlreadyExists,
  DOMAIN_TAKEN: Code.AlreadyExists,
  RESOURCE_URI_TAKEN: Code.AlreadyExists,
  INVITATION_EXISTS: Code.AlreadyExists,
  ID_TAKEN: Code.AlreadyExists,
  USER_NOT_HUMAN: Code.FailedPrecondition,
  USER_NOT_MACHINE: Code.FailedPrecondition,
  USER_INACTIVE: Code.FailedPrecondition,
  PASSWORD_MISSING: Code.FailedPrecondition,
  PASSWORD_EXISTS: Code.FailedPrecondition,
  PASSWORD_CHANGE_REQUIRED: Code.FailedPrecondition,
  SIGN_IN_NOT_FRESH: Code.FailedPrecondition,
  FACTOR_MISSING: Code.FailedPrecondition,
  FACTOR_LIMIT: Code.FailedPrecondition,
  FACTORS_OFF: Code.FailedPrecondition,
  PASSKEY_HOST: Code.FailedPrecondition,
  ENROLMENT_EXPIRED: Code.FailedPrecondition,
  OWN_LOGIN_NAMES_IN_USE: Code.FailedPrecondition,
  ERASURE_NOT_SCHEDULED: Code.FailedPrecondition,
  SELF_ERASURE_OFF: Code.FailedPrecondition,
  REGISTRATION_CLOSED: Code.FailedPrecondition,
  REGISTRATION_DOMAIN: Code.FailedPrecondition,
  REGISTRATION_ADDRESS_KNOWN: Code.FailedPrecondition,
  EMAIL_UNDOABLE: Code.FailedPrecondition,
  PHONE_UNCHANGED: Code.FailedPrecondition,
  PHONE_MISSING: Code.FailedPrecondition,
  PHONE_VERIFIED: Code.FailedPrecondition,
  BEING_DELETED: Code.FailedPrecondition,
  ORGANIZATION_INACTIVE: Code.FailedPrecondition,
  PROJECT_INACTIVE: Code.FailedPrecondition,
  EMAIL_UNCHANGED: Code.FailedPrecondition,
  EMAIL_VERIFIED: Code.FailedPrecondition,
  APPLICATION_NOT_OIDC: Code.FailedPrecondition,
  APPLICATION_NOT_API: Code.FailedPrecondition,
  CLIENT_SECRET_MISSING: Code.FailedPrecondition,
  APPLICATION_KEYS_MIXED: Code.FailedPrecondition,
  APPLICATION_KEY_LIMIT: Code.FailedPrecondition,
  MACHINE_KEY_LIMIT: Code.FailedPrecondition,
  OWN_MACHINE_CREDENTIAL: Code.FailedPrecondition,
  OWN_MACHINE_DELEGATION: Code.FailedPrecondition,
  ACCESS_TOKEN_LIMIT: Code.FailedPrecondition,
  SUBSCRIPTION_LIMIT: Code.FailedPrecondition,
  DELIVERY_EXPIRED: Code.FailedPrecondition,
  DELIVERY_NOT_WANTED: Code.FailedPrecondition,
  DOMAIN_LIMIT: Code.FailedPrecondition,
  RESOURCE_URI_HOST: Code.FailedPrecondition,
  RESOURCE_URI_UNKNOWN: Code.FailedPrecondition,
  METADATA_LIMIT: Code.FailedPrecondition,
  DOMAIN_RECORD_MISSING: Code.FailedPrecondition,
  DOMAIN_CHECK_FAILED: Code.FailedPrecondition,
  INVITATION_LIMIT: Code.FailedPrecondition,
  INVITATION_FOR_OTHER_ADDRESS: Code.FailedPrecondition,
  INVITATION_ADDRESS_UNCONFIRMED: Code.FailedPrecondition,
  INVITATION_OFFERS_NOTHING: Code.FailedPrecondition,
  OFFER_EXPIRED: Code.FailedPrecondition,
  INVITER_NOT_ENTITLED: Code.FailedPrecondition,
  LAST_OWNER: Code.FailedPrecondition,
  ENDED_BY_RECEIVER: Code.FailedPrecondition,
  ACCEPTANCE_REQUIRED: Code.FailedPrecondition,
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
  // Clients with a standard retry policy retry UNAVAILABLE, but not UNKNOWN.
  OUTCOME_UNKNOWN: Code.Unknown,
  OUTCOME_UNKNOWN_WITH_KEY: Code.Unavailable,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  CANCELLED: Code.Canceled,
  INTERNAL: Code.Internal,
} as const satisfies Record<string, Code> & Record<GatewayReason, Code>;

/** An error reason: stable, in UPPER_SNAKE. */
export type Reason = keyof typeof reasons;

/** The nouns that can be missing. */
export type Noun = { [R in Reason]: R extends `${infer N}_NOT_FOUND` ? Lowercase<N> : never }[Reason];

/** A violation of all items of a batch together, although its field is inside one of them; it fails the whole request. */
export type OfAllItems = Violation & { readonly ofAllItems: true };

export const isOfAllItems = (one: Violation): boolean => "ofAllItems" in one;

/** Makes a check that a violation does not concern a field, or part of one, that is already known to be invalid. */
export function isBeside(wrong: readonly WrongField[]): (one: Violation) => boolean {
  const fields = new Set(wrong.map(({ field }) => field));
  return ({ field }) => fields.size === 0 || ![...pathsAround(field)].some((path) => fields.has(path));
}

/** A cross-field rule of a message. */
export type MessageRule = {
  readonly type: DescMessage;
  /** The fields that the rule compares; if one of them breaks a rule of its own, this rule is not checked. */
  readonly weighs: readonly string[];
  broken(message: Message): readonly Violation[];
  /** The same, item by item, so that other work can use the event loop in between. */
  steps?(message: Message): Iterable<readonly Violation[]>;
};

/** Makes a cross-field rule of a message with many items, which takes long for all of them together. */
export function itemsRule<D extends DescMessage>(
  type: D,
  steps: (message: MessageShape<D>) => Iterable<readonly Violation[]>,
): MessageRule {
  return { type, weighs: [], broken: (message) => [...steps(message as MessageShape<D>)].flat(), steps };
}

/** Makes a cross-field rule; `broken` returns every violation. */
export function messageRule<D extends DescMessage>(
  type: D,
  broken: (message: MessageShape<D>) => readonly Violation[],
  weighs: readonly string[] = [],
): MessageRule {
  return { type, weighs, broken };
}

/**
 * A rule of a message that only the database can decide. The handler enforces it; if other fields of a request are invalid, its violations
 * are listed with theirs. `C` is the call that guards and handlers receive.
 */
export type LateRule<C> = {
  readonly type: DescMessage;
  /** The fields that the rule needs; if one of them breaks a rule of its own, this rule is not checked. */
  readonly weighs: readonly string[];
  /** Finds violations in addition to those `found` without the database, skipping fields that are already invalid. */
  find(message: Message, call: C, found: readonly Violation[]): Promise<readonly Violation[]>;
};

/** Makes a late rule; `find` returns every violation, and none for an object that does not exist. */
export function lateRule<D extends DescMessage, C>(
  type: D,
  weighs: readonly string[],
  find: (message: MessageShape<D>, call: C, found: readonly Violation[]) => Promise<readonly Violation[]>,
): LateRule<C> {
  return { type, weighs, find };
}

/** Details of an error besides its reason. */
export type Refusal = RefusalDetails<TextKey>;

const domain = "postern";

/** The violations of each error; the error itself lists them in English. */
const violationsOf = new WeakMap<ConnectError, readonly Violation[]>();

// RFC 6750, 3: constant, because the reason is a detail of the error.
const challenge = { "www-authenticate": 'Bearer realm="postern"' };

/** Makes all errors of this service. */
export const refuse = {
  /** Makes the error for a reason in the list. */
  because(reason: Reason, details: Refusal = {}): ConnectError {
    const kind = {
      domain,
      reason,
      code: reasons[reason],
      text: (params: TextParams) => errorText(textKeyOf(reason, params), params),
      describe: (one: Violation) => errorText(one.text, one.params),
    };
    const { metadata, violations } = details;
    const isUnauthenticated = kind.code === Code.Unauthenticated;
    const error = refusal(kind, isUnauthenticated ? { ...details, metadata: { ...challenge, ...metadata } } : details);
    if (violations) violationsOf.set(error, violations);
    return error;
  },

  /** Makes the error for an object that does not exist, or that the caller may not know about. */
  notFound(noun: Noun, id: string): ConnectError {
    const reason = `${noun.toUpperCase() as Uppercase<Noun>}_NOT_FOUND` as const;
    return refuse.because(reason, { params: { id }, resource: { noun, id } });
  },

  /**
   * Makes the error for a request with these violations. If they share one of our reasons, that becomes the error's reason. If as many
   * violations as can be listed were found, the search stopped early and there may be more.
   */
  invalid(violations: readonly Violation[], isPartial?: boolean): ConnectError {
    const { reason, ...details } = invalidity(violations, isPartial);
    return refuse.because(reason, details);
  },
};

/** Finds the reason and details of an error with these violations. */
export function invalidity(
  violations: readonly Violation[],
  isPartial = violations.length >= maxViolations,
): Refusal & { readonly reason: Reason } {
  const reason = violations[0]?.reason;
  if (reason && isReason(reason) && violations.every((one) => one.reason === reason))
    return { reason, violations, isPartial };
  const { fields, more } = namedFields(violations);
  const params = { fields, ...(more > 0 && { more: String(more) }) };
  return { reason: "VALIDATION_FAILED", params, violations, isPartial };
}

/** Makes the gateway's errors from our reasons and texts. */
export const inOurWords: Refuse = (reason, { violations, isPartial, ...details }) =>
  reason === "VALIDATION_FAILED" && violations
    ? refuse.invalid(violations.filter(isOurs), isPartial)
    : refuse.because(reason, details);

/** Whether a violation reported by the gateway is one of its own or from one of our rules; there are no others. */
const isOurs = (one: GatewayViolation<string>): one is Violation => isTextKey(one.text);

export function refuseAny(violations: readonly Violation[]): void {
  if (violations.length > 0) throw refuse.invalid(violations);
}

const isReason = (name: string): name is Reason => Object.hasOwn(reasons, name);

/** The reason of one of our errors; undefined for any other error. */
export function reasonOf(error: unknown): Reason | undefined {
  const reason = infoOf(error)?.reason;
  return reason !== undefined && isReason(reason) ? reason : undefined;
}

/**
 * Whether an error is a lost race that the command may win when it reruns, which excludes a mismatch with the sequence that the caller
 * expects.
 */
export const isLostRace = (error: unknown): boolean =>
  reasonOf(error) === "CONFLICT" && infoOf(error)?.metadata.currentSequence === undefined;

/** The database constraint through which a race was lost; undefined for any other error. */
export const constraintOf = (error: unknown): string | undefined =>
  reasonOf(error) === "CONFLICT" ? infoOf(error)?.metadata.constraint : undefined;

/** The permission that a caller lacks; undefined for any other error. */
export const missingPermissionOf = (error: unknown): string | undefined =>
  reasonOf(error) === "PERMISSION_DENIED" ? infoOf(error)?.metadata.permission : undefined;

/** A code as gRPC spells it. */
export const codeName = (code: Code): string => (Code[code] ?? "").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();

/** Adds the text in the language to an error's details. */
export function localized(error: ConnectError, language: Language): ConnectError {
  const info = infoOf(error);
  if (!info || !isReason(info.reason) || error.details.some(isLocalized)) return error;
  const message = text(textKeyOf(info.reason, info.metadata), language, info.metadata);
  error.details.push(detail(LocalizedMessageSchema, { locale: language, message }));
  localizeViolations(error, language);
  return error;
}

/** Converts the errors in one response, which together list at most as many violations as a single error may. */
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

/** Adds texts in the language to an error's violations, as far as the response has room for them. */
function localizeViolations(error: ConnectError, language: Language): void {
  const listed = error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
  const violations = violationsOf.get(error)?.slice(0, listed.length) ?? [];
  const messages = violations.map((one) => text(one.text, language, one.params));
  for (const [at, message] of fittingMessages(listed, messages).entries()) {
    const violation = listed[at];
    if (violation && message !== undefined)
      violation.localizedMessage = create(LocalizedMessageSchema, { locale: language, message });
  }
}

/**
 * Finds the text for a reason, or a more exact one for its problem. With many invalid fields, the text says how many are not named; if
 * another sequence was expected, it says which one exists.
 */
export function textKeyOf(reason: Reason, params: TextParams): TextKey {
  const { problem } = params;
  if (typeof problem === "string" && isTextKey(problem)) return problem;
  if (reason === "CONFLICT" && params.currentSequence !== undefined) return "CONFLICT_WITH_SEQUENCE";
  if (reason !== "VALIDATION_FAILED" || params.more === undefined) return reason;
  return params.omittedIsLowerBound ? "VALIDATION_FAILED_AT_LEAST" : "VALIDATION_FAILED_AND_MORE";
}

// ConnectError serializes outgoing details when it is sent, so the detail stays a typed message until then.
function detail<D extends DescMessage>(desc: D, value: MessageInitShape<D>) {
  return { desc, value: create(desc, value) };
}
