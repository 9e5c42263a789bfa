import { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, LocalizedMessageSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { isLostRace, localized, reasonOf } from "../../errors.ts";
import type { Language } from "../../messages/language.ts";
import { durationText, type PageText, pageText } from "../../messages/page.ts";
import type { NewPerson } from "../../services/users/joining_user.ts";
import { bounded, type Parameters } from "../http/parameters.ts";
import { field, passwordField } from "../pages/field.ts";
import { type Html, html } from "../pages/html.ts";

const longestName = 200;
// The same as in a call.
const longestPassword = 1000;

/** The values that new users typed to describe themselves. */
export type Typed = Readonly<Record<"username" | "givenName" | "familyName", string>>;

/** The fields of a form in which new users describe themselves. */
type Person = {
  readonly language: Language;
  readonly typed: Omit<Typed, "username">;
  /** The login name as it was typed or is proposed; undefined if the form does not ask. */
  readonly username?: string | undefined;
  /** The fields of the request that were refused. */
  readonly wrong: readonly string[];
  /** The id of an element that explains the password. */
  readonly rulesId?: string;
};

/** The fields for the names and the password of a new user. */
export function personFields({ language, typed, username, wrong, rulesId }: Person): readonly Html[] {
  const focused = wrong[0] ?? (typed.givenName === "" ? "givenName" : undefined);
  const state = (of: string) => ({ isWrong: wrong.includes(of), hasFocus: of === focused });
  const named = (name: "given_name" | "family_name", value: string, of: "givenName" | "familyName") =>
    html`${field({
      name,
      label: pageText(name, language),
      attributes: html`maxlength="${String(longestName)}" autocomplete="${name.replace("_", "-")}" value="${value}"`,
      ...state(of),
    })}\n`;
  const loginName = (value: string) =>
    html`${field({
      name: "username",
      label: pageText("invited_name", language),
      attributes: html`maxlength="${String(longestName)}" autocomplete="username" autocapitalize="none" spellcheck="false" value="${value}"`,
      ...state("username"),
    })}\n`;
  const password = {
    name: "new_password",
    label: pageText("password", language),
    attributes: html`maxlength="${String(longestPassword)}" autocomplete="new-password"`,
    ...state("password"),
    ...(rulesId === undefined ? {} : { describedBy: rulesId }),
  };
  return [
    named("given_name", typed.givenName, "givenName"),
    named("family_name", typed.familyName, "familyName"),
    ...(username === undefined ? [] : [loginName(username)]),
    passwordField(password, language),
  ];
}

export const typedIn = (form: Parameters): Typed => ({
  username: bounded(form, "username", longestName)?.trim() ?? "",
  givenName: bounded(form, "given_name", longestName)?.trim() ?? "",
  familyName: bounded(form, "family_name", longestName)?.trim() ?? "",
});

export const personIn = (form: Parameters): NewPerson => ({
  ...typedIn(form),
  password: bounded(form, "new_password", longestPassword) ?? "",
});

/** The problems of a form that was refused, and the fields of the request that they are about. */
export type PersonProblem = {
  readonly status: number;
  readonly problems: readonly string[];
  readonly fields: readonly string[];
};

/** Explains to the user why a form was refused; `over` is the text for a code that is not valid. */
export function personProblem(error: unknown, language: Language, over: PageText): PersonProblem {
  const reason = reasonOf(error);
  // A page that lost a race runs again.
  if (!(error instanceof ConnectError) || reason === undefined || reason === "INTERNAL" || isLostRace(error))
    throw error;
  if (reason === "RATE_LIMIT" || reason === "SEND_LIMIT") {
    const seconds = Number(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds ?? 1);
    return {
      status: 429,
      problems: [pageText("attempts", language, { wait: durationText(seconds, language) })],
      fields: [],
    };
  }
  if (reason === "CODE_INVALID") return { status: 400, problems: [pageText(over, language)], fields: [] };
  const told = localized(error, language);
  const wrong = told.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  const message = told.findDetails(LocalizedMessageSchema)[0]?.message ?? pageText("busy", language);
  const problems = wrong.map(({ field: of, description, localizedMessage }) =>
    withLabel(of, localizedMessage?.message || description, language),
  );
  return {
    status: 400,
    problems: problems.length > 0 ? problems : [message],
    fields: wrong.map(({ field: of }) => of),
  };
}

const labels: Readonly<Record<string, PageText>> = {
  username: "invited_name",
  givenName: "given_name",
  familyName: "family_name",
  password: "password",
};

/** A problem after the label of its field: all problems stand above the form, and "Is required." may be said of several fields. */
function withLabel(of: string, problem: string, language: Language): string {
  const label = labels[of];
  return label === undefined ? problem : `${pageText(label, language)} – ${problem}`;
}
