import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { type Html, hidden, html } from "../pages/html.ts";

type SignInForm = { readonly language: Language; readonly request: string; readonly token: string };

/**
 * Leads from the sign-in form to the password reset. It looks like a link but is a button, so that it carries that form's request and
 * token.
 */
export const forgottenForm = ({ language, request, token }: SignInForm): Html =>
  html`<form method="post" action="${paths.forgottenPassword}">
${hidden("request", request)}${hidden("token", token)}
<button class="link" name="action" value="forgotten">${pageText("forgotten", language)}</button>
</form>`;
