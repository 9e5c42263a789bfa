import type { HttpRoute, Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import type { PasswordResets } from "../../services/passwords/password_reset.ts";
import { bounded, type Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { field } from "../pages/field.ts";
import { html, nothing } from "../pages/html.ts";
import { organizationField, organizationIn } from "../pages/organization_field.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { callOf } from "../request/endpoint.ts";
import { namesOfPage } from "../sign_in/names_of_page.ts";
import { limitProblem } from "../sign_in/sign_in_problem.ts";
import { hasWord, type PlainPage, plainResponse, plainRoute } from "./plain_page.ts";

const longestName = 200;

/**
 * The route for users who forgot their password. Its response does not depend on whether an account exists. The authorization request of
 * the interrupted sign-in waits sealed in a cookie, so it can only continue in this browser.
 */
export function forgottenPasswordRoute(parts: ProviderParts & { readonly resets: PasswordResets }): HttpRoute {
  const path = paths.forgottenPassword;
  const namesOf = namesOfPage(parts.deps.sql);
  return plainRoute(parts, { path, show: (page) => (hasWord(page, "sent") ? sentPage(page) : askPage(page)), submit });

  async function submit(page: PlainPage, form: Parameters): Promise<Response> {
    const request = form.get("request");
    if (request !== undefined) return redirect(path, { cookies: page.keep("request", request) });
    const typed = bounded(form, "account", longestName)?.trim() ?? "";
    if (typed === "") return askPage(page, { status: 400, problems: [pageText("name_missing", page.language)] });
    try {
      const call = callOf(page.http);
      const { organizationId: requested } = page;
      const asked = { loginName: typed, organizationId: requested, organization: organizationIn(form) };
      const organizationId = await namesOf(asked, call.signal);
      const of = typed.includes("@") ? { nameOrEmail: typed } : { loginName: typed };
      await parts.resets.request({ ...of, organizationId }, call);
      return redirect(`${path}?sent=1`, { cookies: [] });
    } catch (error) {
      const problem = limitProblem(error, page.language);
      if (!problem) throw error;
      noteRefusal(page.http.values, error);
      return askPage(page, problem);
    }
  }
}

type Problem = { readonly status?: number; readonly problems?: readonly string[] };

const askPage = (page: PlainPage, problem: Problem = {}): Response =>
  plainResponse(page, {
    ...problem,
    title: "forgotten_title",
    texts: ["forgotten_text"],
    body: html`<form method="post" action="${paths.forgottenPassword}">
${page.form.hidden}
${field({
  name: "account",
  label: pageText("name_or_email", page.language),
  attributes: html`maxlength="${String(longestName)}" autocomplete="username" autocapitalize="none" spellcheck="false"`,
  hasFocus: true,
})}
${page.organizationId === undefined ? organizationField("", page.language) : nothing}
<button name="action" value="send">${pageText("send", page.language)}</button>
</form>`,
  });

const sentPage = (page: PlainPage): Response =>
  plainResponse(page, {
    title: "mail_title",
    texts: ["mail_text", "mail_none"],
    body: html`<a class="button" href="${paths.newPassword}">${pageText("enter_code", page.language)}</a>`,
  });
