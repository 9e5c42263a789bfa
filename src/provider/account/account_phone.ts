import {
  ChangePhoneRequestSchema,
  RemovePhoneRequestSchema,
  ResendPhoneCodeRequestSchema,
  UserService,
  VerifyPhoneRequestSchema,
} from "../../../gen/postern/v1/user_pb.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { field } from "../pages/field.ts";
import { type Html, html, nothing } from "../pages/html.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import type { Failed } from "./account_attempt.ts";
import { type AccountSection, type AccountView, accountForm, accountPage, questionPage } from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";
import { codeForms } from "./code_forms.ts";

const { method } = UserService;

/** The page on which users give, confirm and remove a phone number. */
export function accountPhone({ users, userOf, request }: AccountServices): AccountSection {
  return {
    path: paths.accountPhone,
    isSensitive: () => false,
    show: (view, failed) => shown(view, { failed }),

    async act(view, form) {
      const { http, session, language } = view;
      const { userId } = session;
      switch (form.get("action")) {
        case "change": {
          const change = request(ChangePhoneRequestSchema, { userId, phone: form.get("phone") ?? "" });
          await users.changePhone(change, contextOfUser(http, session, method.changePhone));
          return undefined;
        }
        case "confirm": {
          const verificationCode = form.get("code") ?? "";
          const proof = request(VerifyPhoneRequestSchema, { userId, verificationCode });
          await users.verifyPhone(proof, contextOfUser(http, session, method.verifyPhone));
          return undefined;
        }
        case "send": {
          const resend = request(ResendPhoneCodeRequestSchema, { userId });
          await users.resendPhoneCode(resend, contextOfUser(http, session, method.resendPhoneCode));
          return shown(view, { notice: "phone_sent" });
        }
        case "ask_remove":
          return questionPage(view, {
            title: pageText("phone_remove_title", language),
            text: pageText("phone_remove_text", language),
            fields: html`<button name="action" value="remove" class="danger">${pageText("phone_remove", language)}</button>`,
          });
        case "remove": {
          const removal = request(RemovePhoneRequestSchema, { userId });
          await users.removePhone(removal, contextOfUser(http, session, method.removePhone));
          return undefined;
        }
        default:
          return undefined;
      }
    },
  };

  async function shown(view: AccountView, { failed, notice }: Said) {
    const { language } = view;
    const { phone, phoneVerified } = await userOf(view);
    const text = phone === null ? "phone_none" : phoneVerified ? "phone_confirmed" : (notice ?? "phone_unconfirmed");
    const body = html`<p>${pageText(text, language, { phone: phone ?? "" })}</p>
${phone === null || phoneVerified ? nothing : codeForms(view, failed?.form.get("action") === "confirm")}
${changeForm(view, phone !== null, failed)}
${phone === null ? nothing : removeForm(view)}`;
    return accountPage(view, body, failed);
  }
}

type Said = { readonly failed?: Failed | undefined; readonly notice?: PageText };

function changeForm(view: AccountView, hasPhone: boolean, failed: Failed | undefined): Html {
  const { language } = view;
  const isWrong = failed?.form.get("action") === "change";
  return html`<h2>${pageText(hasPhone ? "phone_change" : "phone_add", language)}</h2>
${accountForm(
  view,
  html`${field({
    name: "phone",
    label: pageText("phone_new", language),
    isWrong,
    hasFocus: isWrong,
    value: isWrong ? (failed.form.get("phone") ?? "") : "",
    attributes: html`type="tel" maxlength="200" autocomplete="tel"`,
  })}
<button name="action" value="change"${hasPhone ? html` class="plain"` : nothing}>${pageText(hasPhone ? "phone_change" : "phone_add", language)}</button>`,
)}`;
}

const removeForm = (view: AccountView): Html =>
  accountForm(
    view,
    html`<button name="action" value="ask_remove" class="plain danger">${pageText("phone_remove", view.language)}</button>`,
  );
