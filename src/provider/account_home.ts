import { create } from "@bufbuild/protobuf";
import type { Response } from "@postern/gateway";
import { DeleteSessionRequestSchema, SessionService } from "../../gen/postern/v1/session_pb.ts";
import { pageText } from "../messages/page.ts";
import { type AccountSection, type AccountView, accountForm, accountPage } from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";
import { html, pageResponse } from "./html.ts";
import { contextOfUser } from "./user_call.ts";

/** Makes the first page of the account: who is signed in, and the way out. */
export const accountHome = ({ sessions }: AccountServices, others: Others): AccountSection => ({
  path: "/account",
  isSensitive: () => false,

  async show(view, problem) {
    const { session, language } = view;
    const { displayName, username } = session;
    const body = html`<p>${pageText("continue_text", language, { name: displayName || username })} <b>${username}</b></p>
${accountForm(
  view,
  html`<button name="action" value="switch" class="plain">${pageText("switch_account", language)}</button>
<button name="action" value="sign_out">${pageText("sign_out", language)}</button>`,
)}`;
    return accountPage(view, body, problem);
  },

  async act(view, form) {
    if (form.get("action") === "switch") return others.choose(view);
    if (form.get("action") !== "sign_out") return undefined;
    const { http, session, language } = view;
    const context = contextOfUser(http, session, SessionService.method.deleteSession);
    await sessions.deleteSession(create(DeleteSessionRequestSchema, { sessionId: session.sessionId }), context);
    return pageResponse({
      language,
      cookies: await others.cookiesWithout(view),
      title: pageText("signed_out_here", language),
      body: html`<p>${pageText("signed_out_text", language)}</p>
<a class="button" href="/account">${pageText("sign_in", language)}</a>`,
    });
  },
});

/** The other accounts of the browser: the page on which one is chosen, and the cookies once the present one is signed out. */
export type Others = {
  readonly choose: (view: AccountView) => Promise<Response>;
  readonly cookiesWithout: (view: AccountView) => Promise<readonly string[]>;
};
