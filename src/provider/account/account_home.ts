import type { Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import type { UserRow } from "../../services/users/user_row.ts";
import { paths } from "../http/paths.ts";
import { type Html, html, nothing, pageResponse } from "../pages/html.ts";
import {
  type AccountPath,
  type AccountSection,
  type AccountView,
  accountForm,
  accountPage,
  questionPage,
} from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

/** The start page of the account: how its user can be reached, and the ways out. */
export const accountHome = (
  { userOf }: AccountServices,
  { choose, signOut, signOutEverywhere }: Ways,
): AccountSection => ({
  path: paths.account,
  isSensitive: () => false,

  async show(view, failed) {
    const { language } = view;
    const buttons = html`<button name="action" value="switch" class="plain">${pageText("switch_account", language)}</button>
<button name="action" value="sign_out" class="plain">${pageText("sign_out", language)}</button>
<button name="action" value="ask_everywhere" class="plain danger">${pageText("sign_out_everywhere", language)}</button>`;
    return accountPage(view, html`${contactsOf(view, await userOf(view))}${accountForm(view, buttons)}`, failed);
  },

  async act(view, form) {
    const { language } = view;
    switch (form.get("action")) {
      case "switch":
        return choose(view);
      case "sign_out": {
        const cookies = await signOut(view);
        return signedOut(
          view,
          cookies,
          html`<p>${pageText("signed_out_text", language)}</p>
<p>${pageText("stays_connected", language)}</p>
<a class="button plain" href="${paths.accountApplications}">${pageText("account_applications", language)}</a>`,
        );
      }
      case "ask_everywhere":
        return questionPage(view, {
          title: pageText("everywhere_title", language),
          text: pageText("everywhere_text", language),
          fields: html`<button name="action" value="sign_out_everywhere" class="danger">${pageText("sign_out_everywhere", language)}</button>`,
        });
      case "sign_out_everywhere": {
        const cookies = await signOutEverywhere(view);
        return signedOut(view, cookies, html`<p>${pageText("signed_out_everywhere", language)}</p>`);
      }
      default:
        return undefined;
    }
  },
});

/** The address and the phone number that are known, and the way to confirm them. */
function contactsOf({ language }: AccountView, { email, emailVerified, phone, phoneVerified }: UserRow): Html {
  const line = (sentence: string, toConfirm: AccountPath | undefined) =>
    html`<p>${sentence}${
      toConfirm === undefined ? nothing : html` <a href="${toConfirm}">${pageText("confirm", language)}</a>`
    }</p>\n`;
  const emailText = pageText(emailVerified ? "email_confirmed" : "email_open", language, { email: email ?? "" });
  const phoneText = pageText(phoneVerified ? "phone_confirmed" : "phone_open", language, { phone: phone ?? "" });
  return html`${email === null ? nothing : line(emailText, emailVerified ? undefined : paths.accountEmail)}${
    phone === null ? nothing : line(phoneText, phoneVerified ? undefined : paths.accountPhone)
  }`;
}

const signedOut = ({ language, brand }: AccountView, cookies: readonly string[], text: Html): Response =>
  pageResponse(
    { language, brand, cookies },
    {
      title: pageText("signed_out_here", language),
      body: html`${text}
<a class="button" href="${paths.account}">${pageText("sign_in", language)}</a>`,
    },
  );

/** The ways out of an account: the page for choosing another one, and the sign-outs, which return cookies. */
export type Ways = {
  readonly choose: (view: AccountView) => Promise<Response>;
  readonly signOut: (view: AccountView) => Promise<readonly string[]>;
  readonly signOutEverywhere: (view: AccountView) => Promise<readonly string[]>;
};
