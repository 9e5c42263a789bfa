import type { Response } from "@postern/gateway";
import { type ComplianceKey, type Language, text } from "../messages/catalogue.ts";
import { type PageText, pageText } from "../messages/page.ts";
import { html, pageResponse } from "./html.ts";

/** The texts of errors that stay with us: nothing proves where the browser should be sent. */
export type PageProblem = Extract<
  PageText,
  | "client_unknown"
  | "redirect_uri_unknown"
  | "request_malformed"
  | "expired"
  | "busy"
  | "hint_of_other_client"
  | "logout_uri_unknown"
  | "device_over"
>;

/** An error that is shown on a page of ours. */
export class PageError extends Error {
  override readonly name = "PageError";
  readonly problem: PageProblem | ComplianceKey;
  readonly params: Readonly<Record<string, string>>;
  readonly status: number;

  constructor(problem: PageProblem | ComplianceKey, params: Readonly<Record<string, string>> = {}, status = 400) {
    super(problem);
    this.problem = problem;
    this.params = params;
    this.status = status;
  }
}

const problems: readonly string[] = [
  "client_unknown",
  "redirect_uri_unknown",
  "request_malformed",
  "expired",
  "busy",
  "hint_of_other_client",
  "logout_uri_unknown",
  "device_over",
] satisfies PageProblem[];

const isPageProblem = (problem: PageProblem | ComplianceKey): problem is PageProblem => problems.includes(problem);

/** The titles of pages with an error. */
export type ErrorTitle = Extract<PageText, "error" | "sign_out_error">;

/** Shows an error, with a name that its developer can look for. */
export function errorPage(
  { problem, params, status }: PageError,
  language: Language,
  title: ErrorTitle = "error",
): Response {
  const sentence = isPageProblem(problem) ? pageText(problem, language, params) : text(problem, language, params);
  return pageResponse({
    status,
    language,
    title: pageText(title, language),
    body: html`<p class="bad">${sentence}</p>
<p>${pageText("error_help", language)}</p>
<p><code>${problem}</code></p>`,
  });
}
