import {
  ChangeEmailRequestSchema,
  ResendEmailCodeRequestSchema,
  UserService,
  VerifyEmailRequestSchema,
} from "../../../gen/postern/v1/user_pb.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { field } from "../pages/field.ts";
import { type Html, html, nothing } from "../pages/html.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import type { Failed } from "./account_attempt.ts";
import { type AccountSection, type AccountView, accountForm, accountPage, signInFirst } from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";
import { codeForms } from "./code_forms.ts";

const { method } = UserService;

/** The page on which users confirm and change their email address. */
export function accountEmail({ users, userOf, request }: AccountServices): AccountSection {
  return {
    path: paths.accountEmail,
    isSensitive: (form) => ["begin", "change"].includes(form.get("action") ?? ""),
    show: (view, failed) => shown(view, { failed }),

    async act(view, form) {
      const { http, session } = view;
      const { userId } = session;
      switch (form.get("action")) {
        case "confirm": {
          const proof = request(VerifyEmailRequestSchema, { userId, verificationCode: form.get("code") ?? "" });
          await users.verifyEmail(proof, contextOfUser(http, session, method.verifyEmail));
          return undefined;
        }
        case "send": {
          const resend = request(ResendEmailCodeRequestSchema, { userId });
          await users.resendEmailCode(resend, contextOfUser(http, session, method.resendEmailCode));
          return shown(view, { notice: "email_sent" });
        }
        case "change": {
          const change = request(ChangeEmailRequestSchema, { userId, email: form.get("email") ?? "" });
          await users.changeEmail(change, contextOfUser(http, session, method.changeEmail));
          return undefined;
        }
        default:
          return undefined;
      }
    },
  };

  async function shown(view: AccountView, { failed, notice }: Said) {
    const { language } = view;
    const { email, emailVerified } = await userOf(view);
    const text = emailVerified ? "email_confirmed" : (notice ?? "email_unconfirmed");
    const body = html`<p>${pageText(text, language, { email: email ?? "" })}</p>
${emailVerified ? nothing : codeForms(view, failed?.form.get("action") === "confirm")}
<h2>${pageText("email_change", language)}</h2>
${view.isFresh ? changeForm(view, failed) : signInFirst(view)}`;
    return accountPage(view, body, failed);
  }
}

type Said = { readonly failed?: Failed | undefined; readonly notice?: PageText };

function changeForm(view: AccountView, failed: Failed | undefined): Html {
  const { language } = view;
  const isWrong = failed?.form.get("action") === "change";
  return html`<p>${pageText("email_change_text", language)}</p>
${accountForm(
  view,
  html`${field({
    name: "email",
    label: pageText("email_new", language),
    isWrong,
    hasFocus: isWrong,
    value: isWrong ? (failed.form.get("email") ?? "") : "",
    attributes: html`type="email" maxlength="200" autocomplete="email"`,
  })}
<button name="action" value="change">${pageText("email_change", language)}</button>`,
)}`;
}
