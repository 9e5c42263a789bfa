import type { PageOf } from "@postern/gateway";
import { reasonOf } from "../../errors.ts";
import { pageText } from "../../messages/page.ts";
import { keepsOpener, paths } from "../http/paths.ts";
import { plainBrand } from "./brand.ts";
import { html, pageResponse } from "./html.ts";
import { languageOf } from "./language.ts";

/** The page for a browser at an unknown path, or at one that only accepts forms. */
export const lostPage: PageOf = (refusal, visit) => {
  const problem = problemOf(reasonOf(refusal));
  if (!problem) return undefined;
  const language = languageOf(visit);
  return pageResponse(
    { language, brand: plainBrand },
    {
      status: problem.status,
      keepsOpener: keepsOpener(visit.path),
      title: pageText("lost", language),
      body: html`<p>${pageText(problem.text, language)}</p>
<p><a href="${paths.account}">${pageText("account", language)}</a></p>`,
    },
  );
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
