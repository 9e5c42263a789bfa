import { create } from "@bufbuild/protobuf";
import {
  ConsentService,
  DisconnectApplicationRequestSchema,
  ListConnectedApplicationsRequestSchema,
} from "../../../gen/postern/v1/consent_pb.ts";
import { pageText } from "../../messages/page.ts";
import { type Html, html, nothing } from "../pages/html.ts";
import { scopeSentences } from "../sign_in/consent.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import {
  type AccountSection,
  type AccountView,
  accountForm,
  accountPage,
  dated,
  listOf,
  mostShown,
} from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

const { method } = ConsentService;

export const accountApplications = ({ consents }: AccountServices): AccountSection => ({
  path: "/account/applications",
  isSensitive: () => false,

  async show(view, problem) {
    const { http, session, language } = view;
    const request = create(ListConnectedApplicationsRequestSchema, { userId: session.userId, pageSize: mostShown });
    const context = contextOfUser(http, session, method.listConnectedApplications);
    const list = await consents.listConnectedApplications(request, context);
    const items = list.applications.map((one) => item(view, one));
    const more = list.nextPageToken ? html`<p>${pageText("more_entries", language)}</p>` : nothing;
    return accountPage(view, accountForm(view, html`${listOf(view, items)}${more}`), problem);
  },

  async act({ http, session }, form) {
    const appId = form.get("application");
    if (appId === undefined) return undefined;
    const request = create(DisconnectApplicationRequestSchema, { userId: session.userId, appId });
    await consents.disconnectApplication(request, contextOfUser(http, session, method.disconnectApplication));
    return undefined;
  },
});

type Listed = Awaited<ReturnType<AccountServices["consents"]["listConnectedApplications"]>>["applications"][number];

function item(view: AccountView, application: Listed): Html {
  const { language } = view;
  const { appId, name, organizationName, scopes, consentDate, lastSignInDate, offlineSinceDate } = application;
  const sentences = scopeSentences(scopes, null, language).map((sentence) => html`<li>${sentence}</li>`);
  return html`<h2>${name}</h2>
<p>${pageText("application_of", language, { organization: organizationName })}</p>
${consentDate ? html`<p>${pageText("application_may", language)}</p><ul>${sentences}</ul>` : nothing}
${lastSignInDate ? dated("application_used", view, lastSignInDate) : nothing}
${offlineSinceDate ? html`<p>${pageText("application_offline", language)}</p>${dated("offline_since", view, offlineSinceDate)}` : nothing}
<button name="application" value="${appId}" class="plain">${pageText("disconnect", language)}</button>`;
}
