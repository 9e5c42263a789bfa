import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { type Html, html } from "../pages/html.ts";
import type { ClientSession } from "./browser_session.ts";
import { destination, type Form, hiddenOf, loopbackWarning, signInPage } from "./sign_in_form.ts";

/** The form for choosing one of the signed-in accounts, or another one. */
export function accountsForm(form: Form, sessions: readonly ClientSession[]): Response {
  const { language } = form;
  return signInPage(form, {
    title: pageText("choose_account", language),
    body: html`${destination(form)}
<form method="post" action="${paths.signIn}">
${hiddenOf(form)}
${sessions.map(accountButton)}
<button name="action" value="other" class="plain">${pageText("other_account", language)}</button>
<button name="action" value="cancel" class="plain">${pageText("cancel", language)}</button>
</form>`,
  });
}

const accountButton = ({ sessionId, qualifiedName, displayName, organization }: ClientSession): Html =>
  html`<button name="account" value="${sessionId}" class="choice">${displayName || qualifiedName}
<small>${qualifiedName}</small> <small>${organization}</small></button>
`;

/** The content of a consent page: the application, its organization, and what it asks for. */
export type ConsentQuestion = {
  readonly organization: string;
  /** The scopes in plain words. */
  readonly sentences: readonly string[];
  readonly session: ClientSession;
};

/** The form that asks a user to consent. */
export function consentForm(form: Form, { organization, sentences, session }: ConsentQuestion): Response {
  const { language, proven } = form;
  const application = proven.client.name;
  const text = proven.client.bringsDocument ? "document_consent_text" : "consent_text";
  return signInPage(form, {
    title: pageText("consent_title", language, { application }),
    body: html`<p>${pageText(text, language, { application, organization })}</p>
<ul>
${sentences.map((sentence) => html`<li>${sentence}</li>\n`)}</ul>
${loopbackWarning(form)}
<p>${pageText("continue_text", language, { name: session.qualifiedName })} ${pageText("consent_end", language)}</p>
<form method="post" action="${paths.signIn}">
${hiddenOf(form)}
<button name="action" value="allow">${pageText("allow", language)}</button>
<button name="action" value="other" class="plain">${pageText("other_account", language)}</button>
<button name="action" value="cancel" class="plain">${pageText("deny", language)}</button>
</form>`,
  });
}
