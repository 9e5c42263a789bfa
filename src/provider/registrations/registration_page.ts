import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import type { OpenRegistration } from "../../services/registrations/complete_registration.ts";
import { paths } from "../http/paths.ts";
import { type PersonProblem, personFields, type Typed } from "../mail_pages/person_form.ts";
import { type PlainPage, plainResponse } from "../mail_pages/plain_page.ts";
import { field } from "../pages/field.ts";
import { type Html, hidden, html, nothing } from "../pages/html.ts";
import { passwordRules, rulesId } from "../pages/password_rules.ts";
import { beginningOf } from "../request/begin_again.ts";

const longestEmail = 200;
const longestCode = 40;

/** The organization of the account, the problems of an earlier attempt, and the address that was typed in it. */
type AskState = Partial<Problem> & { readonly organizationId: string; readonly email?: string };

/** Asks for the address. */
export function askPage(page: PlainPage, { organizationId, email = "", ...problem }: AskState): Response {
  const { language, form } = page;
  return plainResponse(page, {
    ...problem,
    title: "register",
    texts: ["register_text"],
    body: html`<form method="post" action="${paths.register}">
${form.hidden}${hidden("organization", organizationId)}
${field({
  name: "email",
  label: pageText("email_address", language),
  attributes: html`type="email" maxlength="${String(longestEmail)}" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}"`,
  hasFocus: true,
  isWrong: (problem.problems ?? []).length > 0,
})}
<button name="action" value="send">${pageText("send", language)}</button>
</form>
${signInLink(page, "invited_have")}`,
  });
}

/** The page for a browser in which no sign-in has begun that leads to a registration. */
export const nowherePage = (page: PlainPage): Response =>
  plainResponse(page, { status: 400, title: "register", texts: ["register_where"], body: signInLink(page, "sign_in") });

export const sentPage = (page: PlainPage): Response =>
  plainResponse(page, {
    title: "mail_title",
    texts: ["register_sent", "register_sent_none"],
    body: html`<a class="button" href="${paths.completeRegistration}">${pageText("enter_code", page.language)}</a>`,
  });

/** Asks for the code, if the mail has no link. The form leads to the page like a link. */
export const codePage = (page: PlainPage): Response =>
  plainResponse(page, {
    title: "register",
    body: html`<form method="get" action="${paths.completeRegistration}">
${field({
  name: "code",
  label: pageText("mailed_code", page.language),
  attributes: html`maxlength="${String(longestCode)}" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"`,
  hasFocus: true,
})}
<button>${pageText("continue", page.language)}</button>
</form>`,
  });

type Problem = { readonly status: number; readonly problems: readonly string[] };

/** The page for a registration that cannot be completed. */
export const overPage = (page: PlainPage, { status, problems }: Problem): Response =>
  plainResponse(page, { status, problems, title: "register", body: signInLink(page, "sign_in") });

/** The input and the problems of an earlier attempt, and whether the form asks for the login name. */
type PersonState = Partial<PersonProblem> & { readonly typed?: Typed; readonly asksName?: boolean };

/** The form that creates the account. The login name is the address, unless somebody else has that name. */
export function personPage(page: PlainPage, registration: OpenRegistration, state: PersonState): Response {
  const { language, form } = page;
  const { email, organizationName: organization, policy } = registration;
  const {
    typed = { username: "", givenName: "", familyName: "" },
    asksName = false,
    fields: wrong = [],
    ...problem
  } = state;
  const username = asksName ? typed.username || email : undefined;
  return plainResponse(page, {
    ...problem,
    title: "register",
    body: html`<p>${pageText("register_in", language, { organization, email })}</p>
<form method="post" action="${paths.completeRegistration}">
${form.hidden}${hidden("registration", registration.id)}
${asksName ? nothing : html`<input type="text" value="${email}" autocomplete="username" hidden readonly>`}
${personFields({ language, typed, username, wrong, rulesId })}
${passwordRules(language, policy)}
<button name="action" value="create">${pageText("register_create", language)}</button>
</form>`,
  });
}

/** The page after a registration in another browser than the one that began it, or in one whose sign-in is over. */
export const donePage = (page: PlainPage): Response =>
  plainResponse(page, { title: "joined_title", texts: ["registered_text"], body: signInLink(page, "sign_in") });

/** The way back to the interrupted sign-in. */
const signInLink = ({ pending, language }: PlainPage, text: "sign_in" | "invited_have"): Html =>
  pending === undefined
    ? nothing
    : html`<p><a class="button plain" href="${beginningOf(pending)}">${pageText(text, language)}</a></p>`;
