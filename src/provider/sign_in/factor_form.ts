import type { Response } from "@postern/gateway";
import { FactorKind } from "../../../gen/postern/v1/factor_pb.ts";
import { pageText } from "../../messages/page.ts";
import type { PendingSession } from "../../services/sessions/pending_session.ts";
import { paths } from "../http/paths.ts";
import { field, problemsOf } from "../pages/field.ts";
import { type Html, html, nothing } from "../pages/html.ts";
import { passkeyForm } from "../pages/passkey_form.ts";
import { type Form, hiddenOf, signInPage } from "./sign_in_form.ts";

export type FactorState = {
  readonly status?: number;
  /** The sign-in that waits for the factor. */
  readonly pending: Pick<PendingSession, "token" | "factors" | "passkeyOptions">;
  /** Sentences about the previous attempt. */
  readonly problems?: readonly string[];
};

/** The page that asks for a factor after a correct password: a code from an app, a recovery code, or a passkey. */
export function factorForm(form: Form, { status = 200, pending, problems = [] }: FactorState): Response {
  const { language } = form;
  const hasCodes = pending.factors.some((kind) => kind !== FactorKind.PASSKEY);
  return signInPage(form, {
    status,
    title: pageText("factor_title", language),
    body: html`<p>${pageText(hasCodes ? "factor_text" : "factor_passkey_text", language)}</p>
${problemsOf(problems)}
${hasCodes ? codeForm(form, pending.token, problems.length > 0) : nothing}
${pending.passkeyOptions ? passkeyPart(form, pending.token, pending.passkeyOptions) : nothing}`,
  });
}

const waiting = (token: string): Html => html`<input type="hidden" name="pending" value="${token}">`;

const codeForm = (
  form: Form,
  token: string,
  isWrong: boolean,
): Html => html`<form method="post" action="${paths.signIn}">
${hiddenOf(form)}${waiting(token)}
${field({ name: "code", label: pageText("code", form.language), attributes: codeField, hasFocus: true, isWrong })}
<button name="action" value="factor">${pageText("sign_in", form.language)}</button>
</form>`;

const codeField = html`maxlength="100" autocomplete="one-time-code" autocapitalize="none" spellcheck="false"`;

const passkeyPart = (form: Form, token: string, options: object): Html =>
  passkeyForm({
    language: form.language,
    path: paths.signIn,
    hidden: [hiddenOf(form), waiting(token)],
    asks: "get",
    options,
    label: "passkey_use",
  });
