import type { PageOf } from "@postern/gateway";
import { reasonOf } from "../../errors.ts";
import { pageText } from "../../messages/page.ts";
import { html, pageResponse } from "./html.ts";
import { browserLanguage } from "./language.ts";

/** Makes the page of a browser at an address that has none: an unknown path, or one that takes forms alone. */
export const lostPage: PageOf = (refusal, visit) => {
  const problem = problemOf(reasonOf(refusal));
  if (!problem) return undefined;
  const language = browserLanguage(visit);
  return pageResponse({
    status: problem.status,
    language,
    title: pageText("lost", language),
    body: html`<p>${pageText(problem.text, language)}</p>
<p><a href="/account">${pageText("account", language)}</a></p>`,
  });
};

function problemOf(reason: string | undefined) {
  switch (reason) {
    case "UNKNOWN_PATH":
      return { status: 404, text: "lost_path" } as const;
    case "METHOD_NOT_ALLOWED":
      return { status: 405, text: "lost_form" } as const;
    default:
      return undefined;
  }
}
