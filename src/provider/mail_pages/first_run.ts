import type { HttpRoute, Response } from "@postern/gateway";
import { reasonOf } from "../../errors.ts";
import { pageText } from "../../messages/page.ts";
import { normalizeCode } from "../../security/code.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { cookieJar } from "../http/cookies.ts";
import { bounded, type Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { passwordField } from "../pages/field.ts";
import { type Html, hidden, html, nothing } from "../pages/html.ts";
import { isOfThisMachine } from "../pages/own_address.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { callOf } from "../request/endpoint.ts";
import { browserSessions } from "../sign_in/browser_session.ts";
import { limitProblem, newPasswordProblem, type Problem } from "../sign_in/sign_in_problem.ts";
import { codeMoved, type PlainPage, plainResponse, plainRoute } from "./plain_page.ts";

const path = paths.firstRun;
const longestCode = 200;
// The same as in a call.
const longestPassword = 1000;

type LinkParts = ProviderParts & { readonly signIns: SignIns };

/**
 * The route behind the link that the first start or `recover` printed. Opening it does nothing; a button signs the administrator in and
 * ends the password that the first start wrote to a file.
 */
export function firstRunRoute(parts: LinkParts): HttpRoute {
  const { deps, settings, issuer, signIns } = parts;
  const [jar, kindOf] = [cookieJar(issuer), browserSessions(deps, settings)];
  const hasPasskeys = signIns.passkeys.isPossible;
  // An administrator goes on to the console, if this port serves it.
  const home = settings.portServes.includes("console") ? "/console/" : paths.account;
  return plainRoute(parts, { path, show, submit });

  function show(page: PlainPage): Response {
    const moved = codeMoved(page, "administrator", normalizeCode);
    if (moved) return moved;
    const code = page.cookie("administrator");
    return code === undefined ? overPage(page) : askPage(page, { code, hasPasskeys });
  }

  async function submit(page: PlainPage, form: Parameters): Promise<Response> {
    const { http } = page;
    const code = bounded(form, "code", longestCode) ?? "";
    const newPassword = bounded(form, "new_password", longestPassword) ?? "";
    const isPasskey = hasPasskeys && form.get("action") === "passkey";
    if (!isPasskey && newPassword === "")
      return askPage(page, {
        code,
        hasPasskeys,
        status: 400,
        problems: [pageText("first_run_missing", page.language)],
      });
    const link = {
      code,
      newPassword: isPasskey ? undefined : newPassword,
      isHere: isOfThisMachine(http),
      call: callOf(http),
    };
    try {
      const earlier = jar.readSessions(http.headers.cookie);
      const begun = await signIns.links(link, kindOf({ earlier }));
      const session = begun ? jar.setSessions([begun], earlier) : [];
      return redirect(isPasskey ? paths.addFactor : home, { cookies: [page.drop("administrator"), ...session] });
    } catch (error) {
      return refused(page, error, code);
    }
  }

  function refused(page: PlainPage, error: unknown, code: string): Response {
    const { language, http } = page;
    if (reasonOf(error) === "CODE_INVALID") {
      noteRefusal(http.values, error);
      return overPage(page, [page.drop("administrator")]);
    }
    const problem = newPasswordProblem(error, language) ?? limitProblem(error, language) ?? factorFirst(error, page);
    if (!problem) throw error;
    noteRefusal(http.values, error);
    return askPage(page, { ...problem, code, hasPasskeys });
  }
}

/** The page for a policy that requires a factor: a sign-in with a password enrols one. */
const factorFirst = (error: unknown, { language }: PlainPage): Problem | undefined =>
  reasonOf(error) === "FACTOR_ENROLMENT_REQUIRED"
    ? { status: 400, problems: [pageText("first_run_factor", language)] }
    : undefined;

type Asked = Partial<Problem> & { readonly code: string; readonly hasPasskeys: boolean };

function askPage(page: PlainPage, { code, hasPasskeys, ...problem }: Asked): Response {
  const { language, form } = page;
  const formWith = (fields: Html): Html => html`<form method="post" action="${path}">
${form.hidden}${hidden("code", code)}
${fields}
</form>`;
  const password = passwordField(
    {
      name: "new_password",
      label: pageText("new_password", language),
      attributes: html`maxlength="${String(longestPassword)}" autocomplete="new-password"`,
      hasFocus: true,
      isWrong: (problem.problems ?? []).length > 0,
    },
    language,
  );
  return plainResponse(page, {
    ...problem,
    title: "first_run_title",
    texts: ["first_run_text"],
    body: html`${formWith(html`${password}
<button name="action" value="save">${pageText("first_run_save", language)}</button>`)}
${
  hasPasskeys
    ? formWith(html`<p class="note">${pageText("first_run_passkey_text", language)}</p>
<button name="action" value="passkey" class="plain">${pageText("first_run_passkey", language)}</button>`)
    : nothing
}`,
  });
}

const overPage = (page: PlainPage, cookies: readonly string[] = []): Response =>
  plainResponse(page, {
    status: 400,
    cookies,
    title: "first_run_title",
    problems: [pageText(isOfThisMachine(page.http) ? "first_run_over" : "first_run_elsewhere", page.language)],
  });
