import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import { groupedCode } from "../../security/code.ts";
import { paths } from "../http/paths.ts";
import { field, passwordField, problemsOf } from "../pages/field.ts";
import { hidden, html, nothing } from "../pages/html.ts";
import { type Form, hiddenOf, signInPage } from "./sign_in_form.ts";

export type MailState = {
  readonly status?: number;
  /** The token of the sign-in that waits for the code. */
  readonly challengeToken: string;
  /** The text typed as the login name, in case the user continues in another way. */
  readonly loginName: string;
  /** The code, if the user came by the mail's link. */
  readonly code?: string | undefined;
  /** Whether a new password has to be chosen. */
  readonly isChange?: boolean;
  /** Sentences about the previous attempt. */
  readonly problems?: readonly string[];
};

/** The page that asks for the code in a mail. It is the same whether or not a mail was sent. */
export function mailForm(form: Form, state: MailState): Response {
  const { status = 200, challengeToken, loginName, code = "", isChange = false, problems = [] } = state;
  const { language } = form;
  const codeField = html`maxlength="200" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"`;
  const chosen = html`maxlength="1000" autocomplete="new-password"`;
  const label = pageText("new_password", language);
  return signInPage(form, {
    status,
    title: pageText(code === "" ? "mail_title" : "mailed_title", language),
    body: html`<p>${pageText(code === "" ? "mail_code_text" : "mailed_text", language)}</p>
${problemsOf(problems)}
<form method="post" action="${paths.signIn}">
${hiddenOf(form)}${hidden("challenge", challengeToken)}${hidden("login_name", loginName)}
${field({ name: "code", label: pageText("mailed_code", language), attributes: codeField, value: groupedCode(code), hasFocus: code === "", isWrong: status === 401 })}
${isChange ? passwordField({ name: "new_password", label, attributes: chosen, hasFocus: true, isWrong: status === 400 }, language) : nothing}
<button name="action" value="code">${pageText("sign_in", language)}</button>
</form>
<form method="post" action="${paths.signIn}">
${hiddenOf(form)}${hidden("login_name", loginName)}
<button class="link" name="action" value="other">${pageText("mail_other", language)}</button>
</form>`,
  });
}
