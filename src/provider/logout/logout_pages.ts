import type { Response } from "@postern/gateway";
import { type PageText, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { formActionOf } from "../http/web_uri.ts";
import { html, nothing, pageResponse } from "../pages/html.ts";
import type { Look } from "../pages/look.ts";
import type { LogoutRequest } from "./logout_request.ts";

/** The form that asks whether to sign out: the request that it returns, and its token. */
export type LogoutForm = Look & {
  readonly logout: LogoutRequest;
  readonly username: string;
  readonly request: string;
  readonly token: string;
};

export function logoutForm(form: LogoutForm): Response {
  const { logout, username, language, request, token } = form;
  const { application, location } = logout;
  const reason = application && pageText("sign_out_text", language, { application: application.name });
  return pageResponse(form, {
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
export const logoutEnd = (look: Look, title: Extract<PageText, "signed_out" | "still_signed_in">): Response =>
  pageResponse(look, {
    keepsOpener: true,
    title: pageText(title, look.language),
    body: html`<p>${pageText("close_page", look.language)}</p>`,
  });
