import type { Response } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { formActionOf } from "../http/web_uri.ts";
import { html, nothing, pageResponse } from "../pages/html.ts";
import type { LogoutRequest } from "./logout_request.ts";

/** The form that asks whether to sign out: the request that it returns, and its token. */
export type LogoutForm = {
  readonly logout: LogoutRequest;
  readonly username: string;
  readonly language: Language;
  readonly request: string;
  readonly token: string;
  readonly cookies: readonly string[];
};

export function logoutForm({ logout, username, language, request, token, cookies }: LogoutForm): Response {
  const { application, location } = logout;
  const reason = application && pageText("sign_out_text", language, { application: application.name });
  return pageResponse({
    language,
    cookies,
    title: pageText("sign_out_title", language),
    formAction: location === undefined ? "" : formActionOf(location),
    keepsOpener: true,
    body: html`<p>${pageText("continue_text", language, { name: username })}</p>
${reason === undefined ? nothing : html`<p>${reason}</p>`}
<form method="post" action="${paths.signOut}">
<input type="hidden" name="request" value="${request}"><input type="hidden" name="token" value="${token}">
<button name="action" value="sign_out">${pageText("sign_out", language)}</button>
<button name="action" value="cancel" class="plain">${pageText("cancel", language)}</button>
</form>`,
  });
}

/** The last page of a sign-out, or of one that the user declined. */
export const logoutEnd = (
  title: Extract<PageText, "signed_out" | "still_signed_in">,
  language: Language,
  cookies: readonly string[],
): Response =>
  pageResponse({
    language,
    cookies,
    keepsOpener: true,
    title: pageText(title, language),
    body: html`<p>${pageText("close_page", language)}</p>`,
  });
