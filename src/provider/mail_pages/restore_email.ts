import type { HttpRoute, Response } from "@postern/gateway";
import { reasonOf } from "../../errors.ts";
import { pageText } from "../../messages/page.ts";
import { emailUndo } from "../../services/users/email_undo.ts";
import { bounded, type Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { hidden, html } from "../pages/html.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { callOf } from "../request/endpoint.ts";
import { limitProblem } from "../sign_in/sign_in_problem.ts";
import { codeMoved, hasWord, type PlainPage, plainResponse, plainRoute } from "./plain_page.ts";

const path = paths.restoreEmail;
const longestCode = 200;

/**
 * The route behind the link in a mail to a former address, which restores that address. Only submitting its form does so, because mail
 * scanners open links.
 */
export function restoreEmailRoute(parts: ProviderParts): HttpRoute {
  const undo = emailUndo(parts.deps, parts.settings);
  return plainRoute(parts, { path, show, submit });

  async function submit(page: PlainPage, form: Parameters): Promise<Response> {
    const code = bounded(form, "code", longestCode) ?? "";
    try {
      await undo(code, callOf(page.http));
      return redirect(`${path}?done=1`, { cookies: [page.drop("link")] });
    } catch (error) {
      noteRefusal(page.http.values, error);
      if (reasonOf(error) === "CODE_INVALID") return overPage(page);
      const problem = limitProblem(error, page.language);
      if (!problem) throw error;
      return askPage(page, code, problem);
    }
  }
}

function show(page: PlainPage): Response {
  if (hasWord(page, "done")) return donePage(page);
  const moved = codeMoved(page, "link", (code) => code);
  if (moved) return moved;
  const code = page.cookie("link");
  return code === undefined ? overPage(page) : askPage(page, code, {});
}

type Problem = { readonly status?: number; readonly problems?: readonly string[] };

const askPage = (page: PlainPage, code: string, problem: Problem): Response =>
  plainResponse(page, {
    ...problem,
    title: "restore_title",
    texts: ["restore_text", "restore_keeps"],
    body: html`<form method="post" action="${path}">
${page.form.hidden}${hidden("code", code)}
<button name="action" value="restore" class="danger">${pageText("restore", page.language)}</button>
</form>`,
  });

const donePage = (page: PlainPage): Response =>
  plainResponse(page, {
    title: "restored_title",
    texts: ["restored_text"],
    body: html`<a class="button" href="${paths.forgottenPassword}">${pageText("new_password_way", page.language)}</a>`,
  });

const overPage = (page: PlainPage): Response =>
  plainResponse(page, {
    status: 400,
    title: "restore_title",
    problems: [pageText("restore_over", page.language)],
  });
