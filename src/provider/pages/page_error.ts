import type { HttpRequest, Response } from "@postern/gateway";
import { type ComplianceKey, text } from "../../messages/catalogue.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { isSignOut, keepsOpener } from "../http/paths.ts";
import { type Html, html, nothing, pageResponse } from "./html.ts";
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
export function errorPage(error: PageError, { path }: Pick<HttpRequest, "path">, look: Look): Response {
  const { problem, params, status, description } = error;
  const { language } = look;
  const sentence = isPageProblem(problem) ? pageText(problem, language, params) : text(problem, language, params);
  return pageResponse(look, {
    status,
    keepsOpener: keepsOpener(path),
    title: pageText(titleOf(error, path), language),
    body: html`<p class="bad">${sentence}</p>
${nextStepOf(error, look)}
<p class="note">${pageText("error_details", language)}<br>
<code>${problem}</code>${description === undefined ? nothing : html`<br>\n<code lang="en">${description}</code>`}</p>`,
  });
}

/** The title. A failure of ours ends by itself, and may happen on any page. */
function titleOf({ problem }: PageError, path: string): PageText {
  if (problem === "busy") return "busy_title";
  return isSignOut(path) ? "sign_out_error" : "error";
}

/** What the user can do next. */
function nextStepOf({ problem, beginning }: PageError, { language, here }: Look): Html {
  if (beginning !== undefined) return button(beginning, "begin_again");
  if (problem !== "busy") return html`<p>${pageText("error_help", language)}</p>`;
  return here === undefined ? html`<p>${pageText("busy_form", language)}</p>` : button(here, "try_again");

  function button(href: string, name: PageText): Html {
    return html`<a class="button" href="${href}">${pageText(name, language)}</a>`;
  }
}
