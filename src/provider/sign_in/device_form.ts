import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import type { OauthError } from "../http/oauth_error.ts";
import { paths } from "../http/paths.ts";
import { html, nothing, pageResponse } from "../pages/html.ts";
import type { Look } from "../pages/look.ts";
import { errorPage, PageError } from "../pages/page_error.ts";
import type { ProvenRequest } from "../request/authorization_request.ts";
import type { DeviceRequest } from "../request/device_request.ts";
import { continueForm, type Form } from "./sign_in_form.ts";

/** The user, and the requested access to other APIs in their words; the page also names the application and its device. */
export type DeviceQuestion = { readonly name: string; readonly sentences: readonly string[] };

/** The form that asks whether to sign in a device: it names the application, the code, the user, and any access to APIs. */
export function deviceConfirmation(
  form: Form,
  { userCode, forApi }: DeviceRequest,
  { name, sentences }: DeviceQuestion,
): Response {
  const { language, proven } = form;
  const application = proven.client.name;
  return pageResponse(form, {
    title: pageText("device_confirm_title", language, { application }),
    body: html`<p>${pageText("device_confirm_text", language, { code: userCode })}</p>
${forApi ? html`<p>${pageText("device_api", language)}</p>` : nothing}
${sentences.length > 0 ? html`<p>${pageText("device_may", language, { application })}</p><ul>${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>` : nothing}
${continueForm(form, name)}`,
  });
}

/** The page after a successful sign-in on a device. */
export const deviceDone = ({ client }: ProvenRequest, look: Look): Response =>
  ending(look, { title: "device_done", text: "device_done_text", application: client.name });

export const deviceCancelled = ({ client }: ProvenRequest, look: Look): Response =>
  ending(look, { title: "device_not_signed_in", text: "device_cancelled", application: client.name });

/** The page after a failed sign-in on a device. */
export function deviceFailed({ client }: ProvenRequest, { code }: OauthError, look: Look): Response {
  switch (code) {
    case "access_denied": {
      const texts = { title: "device_not_signed_in", text: "device_not_permitted" } as const;
      return { ...ending(look, { title: texts.title, text: texts.text, application: client.name }), status: 403 };
    }
    case "invalid_target":
    case "expired_token":
      return deviceError(new PageError("device_over"), look);
    case "login_required":
      return deviceError(new PageError("expired", {}, { beginning: paths.device }), look);
    default:
      return deviceError(new PageError("busy", {}, { status: 503, beginning: paths.device }), look);
  }
}

const deviceError = (error: PageError, { language, brand }: Look): Response =>
  errorPage(error, { path: paths.device }, { language, brand });

type Ending = {
  readonly title: "device_done" | "device_not_signed_in";
  readonly text: "device_done_text" | "device_cancelled" | "device_not_permitted";
  readonly application: string;
};

const ending = (look: Look, { title, text, application }: Ending): Response =>
  pageResponse(look, {
    title: pageText(title, look.language),
    body: html`<p>${pageText(text, look.language, { application })}</p>`,
  });
