import type { Response } from "@postern/gateway";
import type { Language } from "../messages/language.ts";
import { pageText } from "../messages/page.ts";
import type { ProvenRequest } from "./authorization_request.ts";
import type { DeviceRequest } from "./device_request.ts";
import { paths } from "./discovery.ts";
import { html, nothing, pageResponse } from "./html.ts";
import type { OauthError } from "./oauth_error.ts";
import { errorPage, PageError } from "./page_error.ts";
import { type Form, hiddenOf, problemsOf } from "./sign_in_form.ts";

/** The state of the form for the code of a device. */
export type CodeState = {
  readonly status?: number;
  readonly language: Language;
  readonly token: string;
  readonly cookies: readonly string[];
  /** The code that the device shows, as it came in the URI or was typed. */
  readonly userCode: string;
  readonly problems?: readonly string[];
};

/** The form that asks for the code of a device; one that came in the URI is to be compared. */
export function deviceCodeForm({ status = 200, language, token, cookies, ...state }: CodeState): Response {
  const { userCode, problems = [] } = state;
  const text = userCode === "" || problems.length > 0 ? "device_enter" : "device_compare";
  return pageResponse({
    status,
    language,
    cookies,
    title: pageText("device_title", language),
    body: html`<p>${pageText(text, language)}</p>
${problemsOf(problems)}
<form method="post" action="${paths.device}">
<input type="hidden" name="token" value="${token}">
<label for="user_code">${pageText("code", language)}</label>
<input id="user_code" name="user_code" required maxlength="40" autocomplete="off" autocapitalize="characters" spellcheck="false" value="${userCode}">
<button name="action" value="code">${pageText("continue", language)}</button>
</form>`,
  });
}

/** The form that asks whether to sign a device in: it names the application, the code, the user, and access to our own API. */
export function deviceConfirmation(form: Form, { userCode, forApi }: DeviceRequest, name: string): Response {
  const { language, proven, cookies } = form;
  const application = proven.client.name;
  return pageResponse({
    language,
    cookies,
    title: pageText("device_confirm_title", language, { application }),
    body: html`<p>${pageText("device_confirm_text", language, { code: userCode })}</p>
${forApi ? html`<p>${pageText("device_api", language)}</p>` : nothing}
<p>${pageText("continue_text", language, { name })}</p>
<form method="post" action="${paths.signIn}">
${hiddenOf(form)}
<button name="action" value="continue">${pageText("continue", language)}</button>
<button name="action" value="other" class="plain">${pageText("other_account", language)}</button>
<button name="action" value="cancel" class="plain">${pageText("cancel", language)}</button>
</form>`,
  });
}

/** The language of a page, and the cookies that it sets. */
export type PageContext = { readonly language: Language; readonly cookies: readonly string[] };

/** The page that ends a sign-in on a device well. */
export const deviceDone = ({ client }: ProvenRequest, context: PageContext): Response =>
  ending(context, { title: "device_done", text: "device_done_text", application: client.name });

/** The page after the user cancelled. */
export const deviceCancelled = ({ client }: ProvenRequest, context: PageContext): Response =>
  ending(context, { title: "device_not_signed_in", text: "device_cancelled", application: client.name });

/** The page of a sign-in on a device that failed. */
export function deviceFailed({ client }: ProvenRequest, { code }: OauthError, context: PageContext): Response {
  switch (code) {
    case "access_denied": {
      const texts = { title: "device_not_signed_in", text: "device_not_permitted" } as const;
      return { ...ending(context, { title: texts.title, text: texts.text, application: client.name }), status: 403 };
    }
    case "expired_token":
      return deviceError(new PageError("device_over"), context);
    case "login_required":
      return deviceError(new PageError("expired", {}, { beginning: paths.device }), context);
    default:
      return deviceError(new PageError("busy", {}, { status: 503 }), context);
  }
}

const deviceError = (error: PageError, { language }: PageContext): Response =>
  errorPage(error, { path: paths.device }, { language });

type Ending = {
  readonly title: "device_done" | "device_not_signed_in";
  readonly text: "device_done_text" | "device_cancelled" | "device_not_permitted";
  readonly application: string;
};

const ending = ({ language, cookies }: PageContext, { title, text, application }: Ending): Response =>
  pageResponse({
    language,
    cookies,
    title: pageText(title, language),
    body: html`<p>${pageText(text, language, { application })}</p>`,
  });
