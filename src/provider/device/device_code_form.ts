import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { field, problemsOf } from "../pages/field.ts";
import { html, pageResponse } from "../pages/html.ts";
import type { Look } from "../pages/look.ts";

/** The state of the form for the code of a device. */
export type CodeState = Look & {
  readonly status?: number;
  readonly token: string;
  /** The code that the device shows, from the URI or as typed. */
  readonly userCode: string;
  readonly problems?: readonly string[];
};

/** The form for a device's code. If the code came in the URI, it asks the user to compare it. */
export function deviceCodeForm(state: CodeState): Response {
  const { status = 200, language, token, userCode, problems = [] } = state;
  const attributes = html`maxlength="40" autocomplete="off" autocapitalize="characters" spellcheck="false" value="${userCode}"`;
  const text = userCode === "" || problems.length > 0 ? "device_enter" : "device_compare";
  return pageResponse(state, {
    status,
    title: pageText("device_title", language),
    body: html`<p>${pageText(text, language)}</p>
${problemsOf(problems)}
<form method="post" action="${paths.device}">
<input type="hidden" name="token" value="${token}">
${field({ name: "user_code", label: pageText("code", language), attributes, hasFocus: true, isWrong: problems.length > 0 })}
<button name="action" value="code">${pageText("continue", language)}</button>
</form>`,
  });
}
