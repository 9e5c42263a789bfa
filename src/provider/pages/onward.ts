import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import { redirect } from "../http/redirect.ts";
import { isWebUri } from "../http/web_uri.ts";
import { html, nothing, pageResponse } from "./html.ts";
import type { Look } from "./look.ts";

/** Where to send the browser, and the look of the page in between. */
export type Onward = Look & {
  readonly cookies: readonly string[];
  readonly location: string;
  readonly application: string;
  /** Whether this responds to one of our forms. */
  readonly byForm: boolean;
};

/**
 * Sends a browser on to an application. Chromium checks all redirects after a form, including the application's own, against the policy of
 * the form's page. Forms are therefore answered with a page, from which the browser starts anew. Apps are opened by the redirect itself:
 * phones open them only after a user gesture, which a page that navigates by itself has lost.
 */
export const onward = (to: Onward): Response =>
  to.byForm && isWebUri(to.location) ? leadingPage(to, "returning") : redirect(to.location, to);

/**
 * A page that goes on to an application by itself, without a script, or, if the browser is set not to, by its link. The next page replaces
 * it in the history.
 */
export function leadingPage(to: Onward, title: "signed_in" | "returning"): Response {
  const { location, application, language } = to;
  return pageResponse(to, {
    keepsOpener: true,
    noReferrer: true,
    title: pageText(title, language, { application }),
    head: html`<meta http-equiv="refresh" content="0;url=${location}">`,
    body: html`${title === "signed_in" ? html`<p>${pageText("return_text", language, { application })}</p>` : nothing}
<a class="button" href="${location}" rel="noreferrer">${pageText("open_application", language, { application })}</a>`,
  });
}
