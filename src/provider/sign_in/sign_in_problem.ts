import { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { localized, reasonOf } from "../../errors.ts";
import type { Language } from "../../messages/catalogue.ts";
import { durationText, pageText } from "../../messages/page.ts";
import type { FactorState } from "./factor_form.ts";
import type { PasswordState } from "./sign_in_form.ts";

/** The sign-in form after a failed attempt, with the reasons that its user may see; undefined for other errors. */
export function signInProblem(
  error: unknown,
  language: Language,
  isChange: boolean,
): Partial<PasswordState> | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  switch (reasonOf(error)) {
    case "SIGN_IN_FAILED":
      return { status: 401, isChange, problems: [pageText("wrong", language)] };
    case "PASSWORD_ATTEMPTS":
      return { status: 429, isChange, problems: [pageText("attempts", language, { wait: waitIn(error, language) })] };
    case "PASSWORD_CHANGE_REQUIRED":
      return { isChange: true, problems: [pageText("must_change", language)] };
    default: {
      const problem = newPasswordProblem(error, language);
      return problem && { ...problem, isChange: true };
    }
  }
}

/** Sentences about a failed request, and the status of their page. */
export type Problem = { readonly status: number; readonly problems: readonly string[] };

/** Explains why a new password was refused; undefined for other errors. */
export function newPasswordProblem(error: unknown, language: Language): Problem | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  switch (reasonOf(error)) {
    case "PASSWORD_POLICY":
    case "PASSWORD_REUSED":
    case "PASSWORD_UNCHANGED":
      return { status: 400, problems: violationsIn(localized(error, language)) };
    default:
      return undefined;
  }
}

/** Explains how long a client has to wait; undefined for other errors. */
export function limitProblem(error: unknown, language: Language): Problem | undefined {
  if (!(error instanceof ConnectError) || reasonOf(error) !== "RATE_LIMIT") return undefined;
  return { status: 429, problems: [pageText("attempts", language, { wait: waitIn(error, language) })] };
}

/** The problem with a mailed code. The sign-in is over if another mail is needed. */
export type MailProblem = Problem & { readonly isChange: boolean; readonly isOver: boolean };

/** Finds why a mailed code was refused, as the user may see it; undefined for other errors. */
export function mailProblem(error: unknown, language: Language, isChange: boolean): MailProblem | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  switch (reasonOf(error)) {
    case "CODE_INVALID":
      return { status: 401, isChange, isOver: false, problems: [pageText("code_over", language)] };
    case "PASSWORD_CHANGE_REQUIRED":
      return { status: 200, isChange: true, isOver: false, problems: [pageText("mail_must_change", language)] };
    case "CODE_ATTEMPTS":
    case "CHALLENGE_INVALID":
    case "SIGN_IN_FAILED":
      return { status: 401, isChange: false, isOver: true, problems: [pageText("mail_over", language)] };
    default: {
      const problem = limitProblem(error, language) ?? newPasswordProblem(error, language);
      return problem && { ...problem, isChange, isOver: false };
    }
  }
}

/** The problem with a factor. The sign-in is over if the password has to be entered again. */
export type FactorProblem = Pick<FactorState, "problems"> & { readonly status: number; readonly isOver: boolean };

/** Finds why a factor was refused, as the user may see it; undefined for other errors. */
export function factorProblem(error: unknown, language: Language): FactorProblem | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  switch (reasonOf(error)) {
    case "CODE_INVALID":
      return { status: 401, isOver: false, problems: [pageText("wrong_code", language)] };
    case "PASSKEY_INVALID":
      return { status: 401, isOver: false, problems: [pageText("passkey_wrong", language)] };
    case "CHALLENGE_INVALID":
    case "SIGN_IN_FAILED":
      return { status: 401, isOver: true, problems: [pageText("sign_in_over", language)] };
    case "PASSWORD_ATTEMPTS":
    case "FACTOR_ATTEMPTS":
    case "RATE_LIMIT":
      return {
        status: 429,
        isOver: false,
        problems: [pageText("attempts", language, { wait: waitIn(error, language) })],
      };
    default:
      return undefined;
  }
}

const waitIn = (error: ConnectError, language: Language): string =>
  durationText(Number(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds ?? 1), language);

const violationsIn = (error: ConnectError): readonly string[] =>
  error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) =>
      fieldViolations.map(({ description, localizedMessage }) => localizedMessage?.message || description),
    );
