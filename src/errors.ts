import { clone, create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import {
  countListed,
  fittingMessages,
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
  withDetails,
  withFewer,
} from "@postern/gateway";
import { BadRequestSchema, LocalizedMessageSchema } from "../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";
import { errorText, isTextKey, type Language, type TextKey, type TextParams, text } from "./messages/catalogue.ts";
import { isReason, type Noun, type Reason, reasons } from "./reasons.ts";

export { cutText, isWithin, maxTextLength, maxViolations, pathsAround } from "@postern/gateway";

/** An invalid field of a request, with the text that explains it. The gateway reports its own violations with our texts. */
export type Violation = GatewayViolation<TextKeyWith<ViolationKey>>;

/** The compiler rejects gateway keys for which we have no text. */
type TextKeyWith<Keys extends TextKey> = TextKey | Keys;

/** A field found to be invalid. */
export type WrongField = Pick<Violation, "field">;

/** A violation of all items of a batch together, although its field is inside one of them; it fails the whole request. */
export type OfAllItems = Violation & { readonly ofAllItems: true };

export const isOfAllItems = (one: Violation): boolean => "ofAllItems" in one;

/** Makes a check that a violation does not concern a field, or part of one, that is already known to be invalid. */
export function isBeside(wrong: readonly WrongField[]): (one: Violation) => boolean {
  const fields = new Set(wrong.map(({ field }) => field));
  return ({ field }) => fields.size === 0 || ![...pathsAround(field)].some((path) => fields.has(path));
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

/** The error with its text in the language among its details. A copy, because calls in other languages may have failed with the same error. */
export function localized(error: ConnectError, language: Language): ConnectError {
  const info = infoOf(error);
  if (!info || !isReason(info.reason) || error.details.some(isLocalized)) return error;
  const message = text(textKeyOf(info.reason, info.metadata), language, info.metadata);
  const details = error.details.map((one) => withTexts(one, violationsOf.get(error) ?? [], language));
  const told = withDetails(error, [...details, detail(LocalizedMessageSchema, { locale: language, message })]);
  violationsOf.set(told, violationsOf.get(error) ?? []);
  return told;
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

type Detail = ConnectError["details"][number];

const isLocalized = (one: Detail) => isDetail(one, LocalizedMessageSchema);

/** The listed violations with texts in the language, as far as the response has room for them; any other detail as it is. */
function withTexts(one: Detail, violations: readonly Violation[], language: Language): Detail {
  if (!("desc" in one) || !isDetail(one, BadRequestSchema)) return one;
  const badRequest = clone(BadRequestSchema, create(BadRequestSchema, one.value));
  const listed = badRequest.fieldViolations;
  const messages = violations.slice(0, listed.length).map((each) => text(each.text, language, each.params));
  for (const [at, message] of fittingMessages(listed, messages).entries()) {
    const violation = listed[at];
    if (violation && message !== undefined)
      violation.localizedMessage = create(LocalizedMessageSchema, { locale: language, message });
  }
  return detail(BadRequestSchema, badRequest);
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
