import type { Response } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import { redirect } from "../http/redirect.ts";
import { isWebUri } from "../http/web_uri.ts";
import type { Brand } from "./brand.ts";
import { html, nothing, pageResponse } from "./html.ts";

/** The way on to an application, and the look of the page in between. */
export type Onward = {
  readonly location: string;
  /** The name of the application. */
  readonly application: string;
  readonly language: Language;
  readonly cookies: readonly string[];
  readonly brand?: Brand | undefined;
  /** Whether this answers a form of ours. */
  readonly byForm: boolean;
};

/**
 * Sends a browser on to an application. Chromium holds all redirects after a form against the policy of the form's page, those of the
 * application too: so a form is answered by a page, from which the browser begins anew. Apps are opened by the redirect itself:
 * telephones open them only after a gesture of their user, which a page that goes on by itself has lost.
 */
export const onward = (to: Onward): Response =>
  to.byForm && isWebUri(to.location) ? leadingPage(to, "returning") : redirect(to.location, to);

/**
 * A page that goes on to an application by itself, without a script; where browsers are told not to, by its link. The next page takes its
 * place in the history.
 */
export function leadingPage(
  { location, application, language, cookies, brand }: Onward,
  title: "signed_in" | "returning",
): Response {
  return pageResponse({
    language,
    cookies,
    brand,
    keepsOpener: true,
    noReferrer: true,
    title: pageText(title, language, { application }),
    head: html`<meta http-equiv="refresh" content="0;url=${location}">`,
    body: html`${title === "signed_in" ? html`<p>${pageText("return_text", language, { application })}</p>` : nothing}
<a class="button" href="${location}" rel="noreferrer">${pageText("open_application", language, { application })}</a>`,
  });
}
