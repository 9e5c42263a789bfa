import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { type Html, hidden, html } from "../pages/html.ts";

type SignInForm = { readonly language: Language; readonly request: string; readonly token: string };

/** The way from the sign-in form to a forgotten password: it looks like a link, and is a button, with the request and the token of that form. */
export const forgottenForm = ({ language, request, token }: SignInForm): Html =>
  html`<form method="post" action="${paths.forgottenPassword}">
${hidden("request", request)}${hidden("token", token)}
<button class="link" name="action" value="forgotten">${pageText("forgotten", language)}</button>
</form>`;
