import { AccountService, EraseMeRequestSchema } from "../../../gen/postern/v1/account_pb.ts";
import { GetPrivacyPolicyRequestSchema, PolicyService } from "../../../gen/postern/v1/policy_pb.ts";
import { daysText, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { type Html, html, pageResponse } from "../pages/html.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import {
  type AccountSection,
  type AccountView,
  accountForm,
  accountPage,
  questionPage,
  signInFirst,
} from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

/** Makes the cookies that keep the browser's other accounts signed in when this one ends. */
export type Leaving = (view: AccountView) => Promise<readonly string[]>;

/** The page on which users delete their account, where the policy allows that. */
export const accountDelete = (services: AccountServices, leaving: Leaving): AccountSection => ({
  path: paths.accountDelete,
  isSensitive: () => true,

  async show(view, failed) {
    const { language } = view;
    const { restoreDays, selfErasure } = await policyOf(services, view);
    const { organization } = view.session;
    const body = selfErasure
      ? html`${consequences(view, restoreDays)}${view.isFresh ? askForm(view) : signInFirst(view)}`
      : html`<p>${pageText("delete_closed", language, { organization })}</p>`;
    return accountPage(view, body, failed);
  },

  async act(view, form) {
    const { http, session, language, brand } = view;
    switch (form.get("action")) {
      case "ask": {
        const { restoreDays } = await policyOf(services, view);
        return questionPage(view, {
          title: pageText("delete_title", language),
          text: afterwards(view, restoreDays),
          about: html`<p>${pageText("delete_text", language)}</p>`,
          fields: html`<button name="action" value="delete" class="danger">${pageText("account_delete", language)}</button>`,
        });
      }
      case "delete": {
        const cookies = await leaving(view);
        const request = services.request(EraseMeRequestSchema, {});
        await services.erasure.eraseMe(request, contextOfUser(http, session, AccountService.method.eraseMe));
        const body = html`<p>${pageText("deleted_text", language)}</p>`;
        return pageResponse({ language, brand, cookies }, { title: pageText("deleted_title", language), body });
      }
      default:
        return undefined;
    }
  },
});

async function policyOf({ policies, request }: AccountServices, { http, session }: AccountView) {
  const context = contextOfUser(http, session, PolicyService.method.getPrivacyPolicy);
  const { policy } = await policies.getPrivacyPolicy(request(GetPrivacyPolicyRequestSchema, {}), context);
  return policy;
}

const consequences = (view: AccountView, days: number): Html => html`<p>${pageText("delete_text", view.language)}</p>
<p>${afterwards(view, days)}</p>`;

const afterwards = ({ language }: AccountView, days: number): string =>
  days > 0 ? pageText("delete_days", language, { days: daysText(days, language) }) : pageText("delete_now", language);

const askForm = (view: AccountView): Html =>
  accountForm(
    view,
    html`<button name="action" value="ask" class="danger">${pageText("account_delete", view.language)}</button>`,
  );
