import { create } from "@bufbuild/protobuf";
import {
  ResendEmailCodeRequestSchema,
  UserService,
  VerifyEmailRequestSchema,
} from "../../../gen/postern/v1/user_pb.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { bounded } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { field } from "../pages/field.ts";
import { html, nothing } from "../pages/html.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import { type AccountSection, type AccountView, accountForm, accountPage } from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

const { method } = UserService;
const longestCode = 200;

/** The page on which users confirm their email address. */
export function accountEmail({ emails, emailOf }: AccountServices): AccountSection {
  return {
    path: paths.accountEmail,
    isSensitive: () => false,
    show: (view, problem) => shown(view, problem === undefined ? {} : { problem }),

    async act(view, form) {
      const { http, session } = view;
      const { userId } = session;
      switch (form.get("action")) {
        case "confirm": {
          const verificationCode = bounded(form, "code", longestCode)?.trim() ?? "";
          const request = create(VerifyEmailRequestSchema, { userId, verificationCode });
          await emails.verifyEmail(request, contextOfUser(http, session, method.verifyEmail));
          return undefined;
        }
        case "send": {
          const request = create(ResendEmailCodeRequestSchema, { userId });
          await emails.resendEmailCode(request, contextOfUser(http, session, method.resendEmailCode));
          return shown(view, { notice: "email_sent" });
        }
        default:
          return undefined;
      }
    },
  };

  async function shown(view: AccountView, { problem, notice }: Said) {
    const { http, session, language } = view;
    const found = await emailOf({ owner: session.owner, id: session.userId }, http.signal);
    const { email, verified } = found ?? { email: "", verified: true };
    const text = verified ? "email_confirmed" : (notice ?? "email_unconfirmed");
    const body = html`<p>${pageText(text, language, { email })}</p>
${verified ? nothing : forms(view, problem !== undefined)}`;
    return accountPage(view, body, problem);
  }
}

type Said = { readonly problem?: string; readonly notice?: PageText };

const forms = (view: AccountView, isWrong: boolean) => html`${accountForm(
  view,
  html`${field({
    name: "code",
    label: pageText("code", view.language),
    attributes: html`maxlength="${String(longestCode)}" autocomplete="one-time-code" autocapitalize="none" spellcheck="false"`,
    hasFocus: true,
    isWrong,
  })}
<button name="action" value="confirm">${pageText("confirm", view.language)}</button>`,
)}
${accountForm(view, html`<button name="action" value="send" class="plain">${pageText("email_send", view.language)}</button>`)}`;
