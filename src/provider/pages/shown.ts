import type { HttpRequest, Response } from "@postern/gateway";
import { retry } from "../../guards/retry.ts";
import { OauthError } from "../http/oauth_error.ts";
import { browserLanguage } from "./language.ts";
import { type ErrorTexts, errorPage, PageError } from "./page_error.ts";
import { noteFailure } from "./request_notes.ts";

/**
 * Runs a page, and again if it lost a race, as the guards do with calls. An error that has nowhere else to go is shown on a page of its
 * own, in the browser's language unless the texts name another.
 */
export async function shown(
  http: Pick<HttpRequest, "values" | "headers" | "path">,
  texts: Partial<ErrorTexts>,
  page: () => Promise<Response>,
): Promise<Response> {
  try {
    return await retry(page, { signal: neverAborted });
  } catch (error) {
    const shownError = pageErrorOf(error);
    noteFailure(http.values, shownError.problem, error);
    return errorPage(shownError, http, { language: browserLanguage(http), ...texts });
  }
}

/** The page error that stands for another error. */
function pageErrorOf(error: unknown): PageError {
  if (error instanceof PageError) return error;
  return error instanceof OauthError
    ? new PageError("request_malformed", { problem: error.description })
    : new PageError("busy", {}, { status: 503 });
}

// A page whose browser has disconnected ends by itself, with another error.
const neverAborted = new AbortController().signal;
