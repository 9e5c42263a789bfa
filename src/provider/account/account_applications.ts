import { create } from "@bufbuild/protobuf";
import {
  ConsentService,
  DisconnectApplicationRequestSchema,
  ListConnectedApplicationsRequestSchema,
} from "../../../gen/postern/v1/consent_pb.ts";
import { pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import { type Html, html, nothing } from "../pages/html.ts";
import { keptIn } from "../request/resource.ts";
import { keptSentences, scopeSentences } from "../sign_in/consent.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import {
  type AccountSection,
  type AccountView,
  accountForm,
  accountPage,
  dated,
  listOf,
  mostShown,
  questionPage,
} from "./account_page.ts";
import type { AccountServices } from "./account_services.ts";

const { method } = ConsentService;

export function accountApplications({ consents, resourcesNear }: AccountServices): AccountSection {
  const listed = ({ http, session }: AccountView) => {
    const request = create(ListConnectedApplicationsRequestSchema, { userId: session.userId, pageSize: mostShown });
    return consents.listConnectedApplications(request, contextOfUser(http, session, method.listConnectedApplications));
  };
  const allowed = async ({ appId, scopes }: Listed, { language }: AccountView) => {
    const { apis, ours } = keptIn(scopes);
    const uris = apis.map(({ uri }) => uri);
    const resources = uris.length === 0 ? [] : await resourcesNear(appId, uris);
    const atApis = apis.flatMap((api, at) => keptSentences(api, resources[at] ?? null, language));
    return [...scopeSentences(ours, null, language), ...atApis];
  };
  return section(consents, { listed, allowed });
}

/** The reads of the section: the applications, and the access of each in words. */
type Reads = {
  readonly listed: ListOfUser;
  readonly allowed: (application: Listed, view: AccountView) => Promise<readonly string[]>;
};

type ListOfUser = (view: AccountView) => ReturnType<AccountServices["consents"]["listConnectedApplications"]>;

const section = (consents: AccountServices["consents"], { listed, allowed }: Reads): AccountSection => ({
  path: paths.accountApplications,
  isSensitive: () => false,

  async show(view, failed) {
    const list = await listed(view);
    const items = await Promise.all(list.applications.map(async (one) => item(view, one, await allowed(one, view))));
    const more = list.nextPageToken ? html`<p>${pageText("more_entries", view.language)}</p>` : nothing;
    return accountPage(view, accountForm(view, html`${listOf(view, items)}${more}`), failed);
  },

  async act(view, form) {
    const { http, session } = view;
    const asked = form.get("ask_application");
    if (asked !== undefined) return askToDisconnect(view, (await listed(view)).applications, asked);
    const appId = form.get("application");
    if (appId === undefined) return undefined;
    const request = create(DisconnectApplicationRequestSchema, { userId: session.userId, appId });
    await consents.disconnectApplication(request, contextOfUser(http, session, method.disconnectApplication));
    return undefined;
  },
});

type Listed = Awaited<ReturnType<AccountServices["consents"]["listConnectedApplications"]>>["applications"][number];

function item(view: AccountView, application: Listed, allowed: readonly string[]): Html {
  const { language } = view;
  const { appId, name, organizationName, consentDate, lastSignInDate, offlineSinceDate } = application;
  const sentences = allowed.map((sentence) => html`<li>${sentence}</li>`);
  return html`<h2>${name}</h2>
<p>${pageText("application_of", language, { organization: organizationName })}</p>
${consentDate ? html`<p>${pageText("application_may", language)}</p><ul>${sentences}</ul>` : nothing}
${lastSignInDate ? dated("application_used", view, lastSignInDate) : nothing}
${offlineSinceDate ? html`<p>${pageText("application_offline", language)}</p>${dated("offline_since", view, offlineSinceDate)}` : nothing}
${acting(view, application)}
<button name="ask_application" value="${appId}" class="plain danger">${pageText("disconnect", language)}</button>`;
}

/** The machines that acted on the user's behalf. Disconnecting the application ends that, too. */
function acting(view: AccountView, { actingMachines }: Listed): Html {
  const { language } = view;
  if (actingMachines.length === 0) return nothing;
  const items = actingMachines.map(({ name, apiName, lastDate }) => {
    const last = lastDate ? dated("acted_last", view, lastDate) : nothing;
    return html`<li>${pageText("acting_at", language, { machine: name, api: apiName })}${last}</li>`;
  });
  return html`<p>${pageText("application_acting", language)}</p><ul>${items}</ul>`;
}

/** Asks for confirmation before disconnecting an application; undefined if it no longer is connected. */
function askToDisconnect(view: AccountView, list: readonly Listed[], asked: string) {
  const { language } = view;
  const application = list.find(({ appId }) => appId === asked);
  if (!application) return undefined;
  return questionPage(view, {
    title: pageText("disconnect_title", language, { application: application.name }),
    text: pageText("disconnect_text", language),
    fields: html`<button name="application" value="${asked}" class="danger">${pageText("disconnect", language)}</button>`,
  });
}
