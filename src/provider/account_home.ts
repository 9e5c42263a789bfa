import type { Response } from "@postern/gateway";
import { pageText } from "../messages/page.ts";
import { type AccountSection, type AccountView, accountForm, accountPage } from "./account_page.ts";
import { html, pageResponse } from "./html.ts";

/** Makes the first page of the account: who is signed in, and the way out. */
export const accountHome = ({ choose, signOut }: Ways): AccountSection => ({
  path: "/account",
  isSensitive: () => false,

  async show(view, problem) {
    const { language } = view;
    const buttons = html`<button name="action" value="switch" class="plain">${pageText("switch_account", language)}</button>
<button name="action" value="sign_out">${pageText("sign_out", language)}</button>`;
    return accountPage(view, accountForm(view, buttons), problem);
  },

  async act(view, form) {
    if (form.get("action") === "switch") return choose(view);
    if (form.get("action") !== "sign_out") return undefined;
    const { language } = view;
    return pageResponse({
      language,
      cookies: await signOut(view),
      title: pageText("signed_out_here", language),
      body: html`<p>${pageText("signed_out_text", language)}</p>
<a class="button" href="/account">${pageText("sign_in", language)}</a>`,
    });
  },
});

/** The ways out of an account: to the page on which another one is chosen, and the sign-out, which answers cookies. */
export type Ways = {
  readonly choose: (view: AccountView) => Promise<Response>;
  readonly signOut: (view: AccountView) => Promise<readonly string[]>;
};
