import { pageText } from "../../messages/page.ts";
import { field } from "../pages/field.ts";
import { type Html, html } from "../pages/html.ts";
import { type AccountView, accountForm } from "./account_page.ts";

/** The forms that take the code that was sent to an address or a phone, and that send another one. */
export const codeForms = (view: AccountView, isWrong: boolean): Html => html`${accountForm(
  view,
  html`${field({
    name: "code",
    label: pageText("code", view.language),
    attributes: html`maxlength="200" autocomplete="one-time-code" autocapitalize="none" spellcheck="false"`,
    hasFocus: isWrong,
    isWrong,
  })}
<button name="action" value="confirm">${pageText("confirm", view.language)}</button>`,
)}
${accountForm(view, html`<button name="action" value="send" class="plain">${pageText("email_send", view.language)}</button>`)}`;
