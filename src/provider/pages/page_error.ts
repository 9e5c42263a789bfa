import type { HttpRequest, Response } from "@postern/gateway";
import { type ComplianceKey, text } from "../../messages/catalogue.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { isSignOut, keepsOpener } from "../http/paths.ts";
import { html, nothing, pageResponse } from "./html.ts";
import type { Look } from "./look.ts";

/** The texts of errors that are not sent to an application, because nothing proves where the browser should go. */
export type PageProblem = Extract<
  PageText,
  | "client_unknown"
  | "redirect_uri_unknown"
  | "request_malformed"
  | "expired"
  | "wrong_address"
  | "busy"
  | "hint_of_other_client"
  | "logout_uri_unknown"
  | "device_over"
>;

type PageErrorOptions = {
  readonly status?: number;
  readonly beginning?: string;
  readonly description?: string | undefined;
};

export class PageError extends Error {
  override readonly name = "PageError";
  readonly problem: PageProblem | ComplianceKey;
  readonly params: Readonly<Record<string, string>>;
  readonly status: number;
  /** The path at which the user can start over, if known. */
  readonly beginning: string | undefined;
  /** The description of the OAuth error that the page stands for, in English, for the application's developer. */
  readonly description: string | undefined;

  constructor(
    problem: PageProblem | ComplianceKey,
    params: Readonly<Record<string, string>> = {},
    { status = 400, beginning, description }: PageErrorOptions = {},
  ) {
    super(problem);
    this.problem = problem;
    this.params = params;
    this.status = status;
    this.beginning = beginning;
    this.description = description;
  }
}

const problems: readonly string[] = [
  "client_unknown",
  "redirect_uri_unknown",
  "request_malformed",
  "expired",
  "wrong_address",
  "busy",
  "hint_of_other_client",
  "logout_uri_unknown",
  "device_over",
] satisfies PageProblem[];

const isPageProblem = (problem: PageProblem | ComplianceKey): problem is PageProblem => problems.includes(problem);

/** Shows an error of a page, with a name that the application's developer can search for. */
export function errorPage(
  { problem, params, status, beginning, description }: PageError,
  { path }: Pick<HttpRequest, "path">,
  look: Look,
): Response {
  const { language } = look;
  const sentence = isPageProblem(problem) ? pageText(problem, language, params) : text(problem, language, params);
  return pageResponse(look, {
    status,
    keepsOpener: keepsOpener(path),
    title: pageText(isSignOut(path) ? "sign_out_error" : "error", language),
    body: html`<p class="bad">${sentence}</p>
${beginning === undefined ? html`<p>${pageText("error_help", language)}</p>` : html`<a class="button" href="${beginning}">${pageText("begin_again", language)}</a>`}
<p class="note">${pageText("error_details", language)}<br>
<code>${problem}</code>${description === undefined ? nothing : html`<br>\n<code lang="en">${description}</code>`}</p>`,
  });
}
