import type { HttpRoute, Response } from "@postern/gateway";
import { reasonOf } from "../../errors.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { normalizeCode } from "../../security/code.ts";
import type { PasswordResets } from "../../services/passwords/password_reset.ts";
import { bounded, type Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { field, passwordField } from "../pages/field.ts";
import { type Html, hidden, html, nothing } from "../pages/html.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { callOf } from "../request/endpoint.ts";
import { knownBrowsers } from "../sign_in/known_browser.ts";
import { limitProblem, newPasswordProblem } from "../sign_in/sign_in_problem.ts";
import { codeMoved, hasWord, type PlainPage, plainResponse, plainRoute } from "./plain_page.ts";

const longestCode = 200;
// The same as in a call.
const longestPassword = 1000;

/** A page that sets a password with a mailed code. */
type Purpose = { readonly path: string; readonly title: PageText; readonly text: PageText; readonly help: Help };

/** The help for users whose code is not valid. */
type Help = (page: PlainPage) => Html;

const forgotten: Purpose = {
  path: paths.newPassword,
  title: "new_title",
  text: "new_text",
  help: ({ language }) => html`<p><a href="${paths.forgottenPassword}">${pageText("ask_again", language)}</a></p>`,
};

const invited: Purpose = {
  path: paths.firstPassword,
  title: "first_title",
  text: "first_text",
  help: ({ language }) => html`<p>${pageText("invite_again", language)}</p>`,
};

type ChooseParts = ProviderParts & { readonly resets: PasswordResets };

/** The routes that set a password with a mailed code: after a forgotten password, or for users who have none yet. */
export const choosePasswordRoutes = (parts: ChooseParts): readonly HttpRoute[] =>
  [forgotten, invited].map((purpose) => chooseRoute(parts, purpose));

function chooseRoute(parts: ChooseParts, purpose: Purpose): HttpRoute {
  const { path } = purpose;
  const remember = knownBrowsers(parts);
  return plainRoute(parts, { path, show, submit });

  function show(page: PlainPage): Response {
    if (hasWord(page, "done")) return donePage(page);
    return codeMoved(page, "code", normalizeCode) ?? choosePage(page, purpose, { code: page.cookie("code") });
  }

  async function submit(page: PlainPage, form: Parameters): Promise<Response> {
    const verificationCode = bounded(form, "code", longestCode) ?? "";
    const newPassword = bounded(form, "new_password", longestPassword) ?? "";
    if (verificationCode === "" || newPassword === "")
      return choosePage(page, purpose, { status: 400, problems: [pageText("code_missing", page.language)] });
    try {
      const { userId, passwordSet } = await parts.resets.reset({ verificationCode, newPassword }, callOf(page.http));
      // The reader of the mail may sign in here, however many wrong passwords come from elsewhere in the meantime.
      const { cookie } = await remember(page.known, { userId, passwordSet });
      return redirect(`${path}?done=1`, { cookies: [page.drop("code"), cookie] });
    } catch (error) {
      const problem = problemOf(error, page, verificationCode);
      if (!problem) throw error;
      noteRefusal(page.http.values, error);
      return choosePage(page, purpose, problem);
    }
  }
}

type ChooseState = {
  readonly status?: number;
  readonly problems?: readonly string[];
  /** The code if already known; otherwise the form asks for it. */
  readonly code?: string | undefined;
  readonly needsHelp?: boolean;
};

/** The form after a failed attempt; it keeps a code that may still be valid. */
function problemOf(error: unknown, { language }: PlainPage, code: string): ChooseState | undefined {
  const problem = newPasswordProblem(error, language) ?? limitProblem(error, language);
  if (problem) return { ...problem, code };
  return reasonOf(error) === "CODE_INVALID"
    ? { status: 400, problems: [pageText("code_over", language)], needsHelp: true }
    : undefined;
}

function choosePage(page: PlainPage, { path, title, text, help }: Purpose, state: ChooseState): Response {
  const { code, needsHelp = false, ...problem } = state;
  const { language, form } = page;
  return plainResponse(page, {
    ...problem,
    title,
    texts: [text],
    body: html`<form method="post" action="${path}">
${form.hidden}${code === undefined ? codeField(page) : hidden("code", code)}
${passwordField(
  {
    name: "new_password",
    label: pageText("new_password", language),
    attributes: html`maxlength="${String(longestPassword)}" autocomplete="new-password"`,
    hasFocus: code !== undefined,
    isWrong: (problem.problems ?? []).length > 0 && !needsHelp,
  },
  language,
)}
<button name="action" value="save">${pageText("save", language)}</button>
</form>
${needsHelp ? help(page) : nothing}`,
  });
}

const codeField = ({ language }: PlainPage): Html =>
  field({
    name: "code",
    label: pageText("mailed_code", language),
    attributes: html`maxlength="${String(longestCode)}" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"`,
    hasFocus: true,
  });

const donePage = (page: PlainPage): Response =>
  plainResponse(page, { title: "saved_title", texts: ["saved_text"], body: signInLink(page) });

/** The way back to the interrupted sign-in, which still asks for a second factor. */
const signInLink = ({ pending, language }: PlainPage): Html =>
  pending === undefined
    ? nothing
    : html`<a class="button" href="${paths.authorize}?${pending}">${pageText("sign_in", language)}</a>`;
