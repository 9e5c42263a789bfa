import type { DescMessage, Message, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, LocalizedMessageSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { isLostRace, localized, reasonOf, refuse } from "../../errors.ts";
import { messageRules } from "../../guards/validate.ts";
import type { Language } from "../../messages/language.ts";
import { durationText, type PageText, pageText } from "../../messages/page.ts";
import type { MessageRule } from "../../rules.ts";
import type { Parameters } from "../http/parameters.ts";

/** A form that failed: sentences about the reasons, the fields of the request that they are about, and what was typed. */
export type Failed = {
  readonly problems: readonly string[];
  readonly fields: readonly string[];
  readonly form: Parameters;
};

/** Makes the function that creates a request and refuses it by the same rules as the guards of a call. */
export function requestsOf(rules: readonly MessageRule[]) {
  const rulesOf = messageRules(rules);
  return <D extends DescMessage>(type: D, init: MessageInitShape<D>): MessageShape<D> => {
    const request = create(type, init);
    const own = rules.filter((rule) => rule.type === type);
    const fields = rulesOf(type)(request as Message);
    const broken = fields.length > 0 ? fields : own.flatMap((rule) => rule.broken(request as Message));
    if (broken.length > 0) throw refuse.invalid(broken);
    return request;
  };
}

/** The sentences about a failed form; undefined if the object that it named is already gone. Other errors are thrown again. */
export function failureOf(error: unknown, form: Parameters, language: Language): Failed | undefined {
  if (!(error instanceof ConnectError) || reasonOf(error) === undefined || reasonOf(error) === "INTERNAL") throw error;
  // A page that lost a race runs again.
  if (isLostRace(error)) throw error;
  if (error.code === Code.NotFound) return undefined;
  const found = localized(error, language);
  const violations = found.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  const said = violations.map(({ description, localizedMessage }) => localizedMessage?.message || description);
  const isList = said.length > 0 && ["VALIDATION_FAILED", "PASSWORD_POLICY"].includes(reasonOf(error) ?? "");
  const problems = ownText(error, language) ?? (isList ? said : [messageOf(found, language)]);
  return { problems, fields: violations.map(({ field }) => field), form };
}

// Texts for users; the general ones address administrators.
const ownTexts: Readonly<Record<string, PageText>> = { EMAIL_UNCHANGED: "email_same", PHONE_UNCHANGED: "phone_same" };

function ownText(error: ConnectError, language: Language): readonly string[] | undefined {
  const reason = reasonOf(error) ?? "";
  const text = ownTexts[reason];
  if (text) return [pageText(text, language)];
  const wait = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  if (!wait || error.code !== Code.ResourceExhausted) return undefined;
  return [pageText("attempts", language, { wait: durationText(Number(wait.seconds), language) })];
}

const messageOf = (error: ConnectError, language: Language): string =>
  error.findDetails(LocalizedMessageSchema)[0]?.message ?? pageText("busy", language);
