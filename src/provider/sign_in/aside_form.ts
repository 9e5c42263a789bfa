import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { type Html, hidden, html } from "../pages/html.ts";

type SignInForm = { readonly language: Language; readonly request: string; readonly token: string };

type Aside = { readonly path: string; readonly text: Extract<PageText, "forgotten" | "register"> };

/**
 * Leads from the sign-in form to a page after which the sign-in continues. It looks like a link but is a button, so that it carries the
 * form's request and token.
 */
const asideForm = ({ language, request, token }: SignInForm, { path, text }: Aside): Html =>
  html`<form method="post" action="${path}">
${hidden("request", request)}${hidden("token", token)}
<button class="link" name="action" value="${text}">${pageText(text, language)}</button>
</form>`;

/** Leads to the password reset. */
export const forgottenForm = (form: SignInForm): Html =>
  asideForm(form, { path: paths.forgottenPassword, text: "forgotten" });

/** Leads to the registration. */
export const registerForm = (form: SignInForm): Html => asideForm(form, { path: paths.register, text: "register" });
