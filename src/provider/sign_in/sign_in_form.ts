import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import type { PasskeyQuestion } from "../../services/sessions/passkey_session.ts";
import { paths } from "../http/paths.ts";
import { formActionOf } from "../http/web_uri.ts";
import { field, passwordField, problemsOf } from "../pages/field.ts";
import { type Html, html, nothing, type Page, pageResponse } from "../pages/html.ts";
import type { Look } from "../pages/look.ts";
import { organizationField } from "../pages/organization_field.ts";
import { passkeyForm } from "../pages/passkey_form.ts";
import type { ProvenRequest } from "../request/authorization_request.ts";
import { isOnLoopback } from "../request/document_client.ts";
import { isBuiltIn, isOwnClient } from "../request/own_client.ts";
import { forgottenForm, registerForm } from "./aside_form.ts";

/** A sign-in form: the request that it returns, and its token. */
export type Form = Look & {
  readonly proven: ProvenRequest;
  readonly request: string;
  readonly token: string;
};

/** A page of a sign-in, with the application's branding; an application may have opened its window. */
export const signInPage = (
  form: Look & Pick<Form, "proven">,
  content: Pick<Page, "status" | "title" | "body">,
): Response =>
  pageResponse(form, {
    ...content,
    formAction: formActionOf(form.proven.redirectUri),
    keepsOpener: !isBuiltIn(form.proven.client) && !form.proven.device,
  });

/** The destination of a sign-in, in words. */
export const destination = ({ proven: { client }, language }: Pick<Form, "proven" | "language">): Html =>
  isOwnClient(client)
    ? html`<p>${pageText("to_account", language)}</p>`
    : html`<p>${pageText("to_application", language, { application: client.name })}</p>`;

export type PasswordState = {
  readonly status?: number;
  readonly loginName: string;
  /** The text typed as the organization; undefined if the request names one, so that the page does not ask. */
  readonly organization?: string | undefined;
  /** Sentences about the previous attempt. */
  readonly problems: readonly string[];
  readonly isChange: boolean;
  /** The challenge for passkeys, if they are available. */
  readonly passkey?: PasskeyQuestion | undefined;
  /** Whether a code can be mailed instead of the password. */
  readonly hasMail?: boolean;
};

/** The form that asks for login name and password, and for a new password if it has to be changed. */
export function passwordForm(form: Form, state: PasswordState): Response {
  const { status = 200, loginName, organization, problems, isChange, passkey, hasMail = false } = state;
  const { language } = form;
  const texts = {
    loginName: pageText("name_or_email", language),
    password: pageText("password", language),
    newPassword: pageText("new_password", language),
  };
  return signInPage(form, {
    status,
    title: pageText("sign_in", language),
    body: html`${destination(form)}
${problemsOf(problems)}
<form method="post" action="${paths.signIn}">
${hiddenOf(form)}
${field({ name: "login_name", label: texts.loginName, attributes: loginNameField(loginName), hasFocus: loginName === "" })}
${passwordField({ name: "password", label: texts.password, attributes: current, hasFocus: loginName !== "", isWrong: status === 401 }, language)}
${isChange ? passwordField({ name: "new_password", label: texts.newPassword, attributes: chosen, isWrong: status === 400 }, language) : nothing}
${organization === undefined ? nothing : organizationField(organization, language)}
<button name="action" value="password">${pageText("sign_in", language)}</button>
${hasMail ? html`<button name="action" value="mail" class="plain" formnovalidate>${pageText("mail_ask", language)}</button>` : nothing}
</form>
${passkey ? passkeyPart(form, passkey) : nothing}
${forgottenForm(form)}
${form.proven.registersIn === undefined ? nothing : registerForm(form)}
${form.brand.signInText === "" ? nothing : html`<p class="note">${form.brand.signInText}</p>`}`,
  });
}

const loginNameField = (value: string): Html =>
  html`maxlength="200" autocomplete="username webauthn" autocapitalize="none" spellcheck="false" value="${value}"`;
const current = html`autocomplete="current-password"`;
const chosen = html`autocomplete="new-password"`;

/** The form that asks whether to continue with the signed-in account. */
export function confirmationForm(form: Form, name: string): Response {
  const { language, proven } = form;
  const application = proven.client.name;
  return signInPage(form, {
    title: pageText("continue_title", language, { application }),
    body: html`${loopbackWarning(form)}${continueForm(form, name)}`,
  });
}

/** The warning that any program on the user's device may have sent the request. */
export const loopbackWarning = ({ proven: { client }, language }: Pick<Form, "proven" | "language">): Html =>
  isOnLoopback(client) ? html`<p class="note">${pageText("document_loopback", language)}</p>` : nothing;

/** Asks to continue as the signed-in user, to choose another account, or to cancel. */
export const continueForm = (
  form: Form,
  name: string,
): Html => html`<p>${pageText("continue_text", form.language, { name })}</p>
<form method="post" action="${paths.signIn}">
${hiddenOf(form)}
<button name="action" value="continue">${pageText("continue", form.language)}</button>
<button name="action" value="other" class="plain">${pageText("other_account", form.language)}</button>
<button name="action" value="cancel" class="plain">${pageText("cancel", form.language)}</button>
</form>`;

/** The form for signing in with a passkey, which the login name field offers as well. */
const passkeyPart = (form: Form, { challengeToken, options }: PasskeyQuestion): Html =>
  passkeyForm({
    language: form.language,
    path: paths.signIn,
    hidden: [hiddenOf(form), html`<input type="hidden" name="challenge" value="${challengeToken}">`],
    asks: "conditional",
    options,
    label: "passkey_use",
  });

/** The hidden fields with which a form returns its request and token. */
export const hiddenOf = ({ request, token }: Pick<Form, "request" | "token">): Html =>
  html`<input type="hidden" name="request" value="${request}"><input type="hidden" name="token" value="${token}">`;
