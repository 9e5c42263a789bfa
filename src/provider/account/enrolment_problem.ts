import { ConnectError } from "@connectrpc/connect";
import { LocalizedMessageSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { localized, reasonOf } from "../../errors.ts";
import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import type { Attempt } from "./enrolment_form.ts";

/** The reason for a failed enrolment, and whether the user may try again, start over, or has to sign in again. */
export type EnrolmentProblem = Required<Attempt> & { readonly goesOn: "again" | "anew" | "signedOut" };

/** Finds why an enrolment failed, as the user may see it; undefined for other errors. */
export function enrolmentProblem(error: unknown, language: Language): EnrolmentProblem | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  switch (reasonOf(error)) {
    case "CODE_INVALID":
      return { status: 400, goesOn: "again", problems: [pageText("wrong_code", language)] };
    case "SIGN_IN_NOT_FRESH":
      return { status: 403, goesOn: "signedOut", problems: [pageText("sign_in_over", language)] };
    case "PASSKEY_INVALID":
    case "PASSKEY_HOST":
    case "ENROLMENT_EXPIRED":
    case "FACTOR_EXISTS":
    case "FACTOR_LIMIT":
    case "FACTORS_OFF":
      return { status: 400, goesOn: "anew", problems: [messageOf(localized(error, language))] };
    default:
      return undefined;
  }
}

const messageOf = (error: ConnectError): string =>
  error.findDetails(LocalizedMessageSchema)[0]?.message ?? error.rawMessage;
