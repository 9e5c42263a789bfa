import type { Response } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { field, problemsOf } from "../pages/field.ts";
import { type Html, html, nothing, pageResponse } from "../pages/html.ts";
import type { Look } from "../pages/look.ts";
import { passkeyForm } from "../pages/passkey_form.ts";
import type { ProvenRequest } from "../request/authorization_request.ts";
import { hiddenOf, signInPage } from "../sign_in/sign_in_form.ts";

/** An enrolment form: the sign-in that continues afterwards, if any, and its token. */
export type EnrolmentForm = Look & {
  readonly proven: ProvenRequest | undefined;
  /** The sealed request of the sign-in; empty without one. */
  readonly request: string;
  readonly token: string;
};

/** The page after a failed attempt: its status, and sentences about the problem. */
export type Attempt = { readonly status?: number; readonly problems?: readonly string[] };

/** The kinds of factors that the user can add. */
export type Addable = { readonly app: boolean; readonly passkey: boolean };

/** The page for choosing a kind of factor. */
export function choiceForm(form: EnrolmentForm, addable: Addable, { status = 200, problems = [] }: Attempt): Response {
  const { language, proven } = form;
  const button = (action: string, label: PageText) =>
    html`<button name="action" value="${action}" class="choice">${pageText(label, language)}</button>`;
  const application = proven?.client.name;
  return page(form, "enrol_title", {
    status,
    body: html`${application === undefined ? nothing : html`<p>${pageText("enrol_needed", language, { application })}</p>`}
<p>${pageText("enrol_choose", language)}</p>
${problemsOf(problems)}
<form method="post" action="${paths.addFactor}">
${hiddenOf(form)}
${addable.app ? button("app", "enrol_app") : nothing}
${addable.passkey ? button("new_passkey", "enrol_passkey") : nothing}
</form>
${addable.passkey ? html`<noscript><p>${pageText("passkey_script", language)}</p></noscript>` : nothing}
${proven ? nothing : factorsLink(language)}`,
  });
}

/** The secret of a new app, as text and as a QR code. */
export type AppSecret = { readonly secret: string; readonly drawing: Html | undefined };

const codeField = html`maxlength="20" inputmode="numeric" autocomplete="one-time-code" spellcheck="false"`;

/** The page with a new app's secret, which asks for a first code. */
export function appForm(form: EnrolmentForm, { secret, drawing }: AppSecret, attempt: Attempt): Response {
  const { language } = form;
  const { status = 200, problems = [] } = attempt;
  return page(form, "enrol_app", {
    status,
    body: html`<p>${pageText("enrol_app_text", language)}</p>
${drawing ?? nothing}
<p>${pageText("secret", language)} <code>${secret.replace(/.{4}(?=.)/g, "$& ")}</code></p>
${problemsOf(problems)}
<form method="post" action="${paths.addFactor}">
${hiddenOf(form)}
${field({ name: "code", label: pageText("code", language), attributes: codeField, hasFocus: true, isWrong: problems.length > 0 })}
${nameField(language)}
<button name="action" value="confirm_app">${pageText("confirm", language)}</button>
</form>
${backForm(form)}`,
  });
}

/** The page whose script creates a passkey. */
export function newPasskeyForm(form: EnrolmentForm, options: object): Response {
  const { language } = form;
  const fields = nameField(language);
  const [path, hidden] = [paths.addFactor, [hiddenOf(form)]];
  return page(form, "enrol_passkey", {
    body: html`<p>${pageText("enrol_passkey_text", language)}</p>
${passkeyForm({ language, path, hidden, asks: "create", options, label: "passkey_create", fields })}
${backForm(form)}`,
  });
}

/** The page after an enrolment. New recovery codes are shown here and never again. */
export function addedPage(form: EnrolmentForm, codes: readonly string[]): Response {
  const { language, proven } = form;
  return page({ ...form, here: undefined }, "enrolled", {
    body: html`${codes.length > 0 ? codeList(codes, language) : nothing}
${proven ? doneForm(form) : html`<a class="button plain" href="${paths.addFactor}">${pageText("enrol_another", language)}</a>${factorsLink(language)}`}`,
  });
}

function codeList(codes: readonly string[], language: Language): Html {
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join("\r\n")}\r\n`)}`;
  return html`<p>${pageText("codes_text", language)}</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p><a href="${file}" download="recovery-codes.txt">${pageText("codes_file", language)}</a></p>`;
}

const doneForm = (form: EnrolmentForm): Html => html`<form method="post" action="${paths.addFactor}">
${hiddenOf(form)}
<button name="action" value="done">${pageText("continue", form.language)}</button>
</form>`;

const backForm = (form: EnrolmentForm): Html => html`<form method="post" action="${paths.addFactor}">
${hiddenOf(form)}
<button name="action" value="choice" class="plain">${pageText("back", form.language)}</button>
</form>`;

/** A link to the factors of the account, for pages that are not part of a sign-in. */
const factorsLink = (language: Language): Html =>
  html`<a class="button plain" href="${paths.accountFactors}">${pageText("account_factors", language)}</a>`;

const nameField = (language: Language): Html => html`<label for="name">${pageText("factor_name", language)}</label>
<input id="name" name="name" maxlength="200" autocomplete="off">`;

type Content = { readonly status?: number; readonly body: Html };

function page({ proven, ...look }: EnrolmentForm, title: PageText, content: Content): Response {
  const titled = { ...content, title: pageText(title, look.language) };
  return proven ? signInPage({ ...look, proven }, titled) : pageResponse(look, titled);
}
