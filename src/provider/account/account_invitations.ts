import { create } from "@bufbuild/protobuf";
import {
  AcceptReceivedInvitationRequestSchema,
  DeclineReceivedInvitationRequestSchema,
  InvitationService,
  ListReceivedInvitationsRequestSchema,
  type ReceivedInvitation,
} from "../../../gen/postern/v1/invitation_pb.ts";
import { keys } from "../../deps.ts";
import { pageText } from "../../messages/page.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { type Html, html, nothing } from "../pages/html.ts";
import { offersIn } from "../pages/offered_roles.ts";
import { contextOfUser } from "../sign_in/user_call.ts";
import type { Failed } from "./account_attempt.ts";
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

const { method } = InvitationService;

/** The user's offers from other organizations. Users decline them, and accept them if they may decide for their own organization. */
export function accountInvitations(services: AccountServices): AccountSection {
  const { invitations, membershipsToDecide, projectNames } = services;
  return { path: paths.accountInvitations, isSensitive: () => false, show, act };

  async function listed({ http, session }: AccountView) {
    const request = create(ListReceivedInvitationsRequestSchema, { userId: session.userId, pageSize: mostShown });
    const context = contextOfUser(http, session, method.listReceivedInvitations);
    const { invitations: list, nextPageToken } = await invitations.listReceivedInvitations(request, context);
    return { list: list as readonly ReceivedInvitation[], nextPageToken };
  }

  async function show(view: AccountView, failed?: Failed) {
    const { language, session } = view;
    const [{ list, nextPageToken }, memberships] = await Promise.all([listed(view), membershipsToDecide(session)]);
    const names = await projectNames(list.flatMap((one) => projectOf(one) || []));
    const items = list.map((one) => item(view, one, { names, mayAccept: memberships !== undefined }));
    const waits = list.length > 0 && !memberships ? html`<p>${pageText("received_decides", language)}</p>` : nothing;
    const more = nextPageToken ? html`<p>${pageText("more_entries", language)}</p>` : nothing;
    return accountPage(view, html`${waits}${accountForm(view, html`${listOf(view, items)}${more}`)}`, failed);
  }

  async function act(view: AccountView, form: Parameters) {
    const { http, session } = view;
    const asked = form.get("ask_decline");
    if (asked !== undefined) return askToDecline(view, (await listed(view)).list, asked);
    const declined = form.get("decline");
    if (declined !== undefined) {
      const request = create(DeclineReceivedInvitationRequestSchema, {
        invitationId: declined,
        userId: session.userId,
      });
      const context = contextOfUser(http, session, method.declineReceivedInvitation);
      await invitations.declineReceivedInvitation(request, context);
    }
    const accepted = form.get("accept");
    if (accepted !== undefined) await accept(view, accepted);
    return undefined;
  }

  /** Accepts an offer to the user, with the rights that the user has as an administrator. */
  async function accept(view: AccountView, invitationId: string): Promise<void> {
    const { http, session } = view;
    const memberships = await membershipsToDecide(session);
    if (!memberships || !(await listed(view)).list.some(({ id }) => id === invitationId)) return;
    const context = contextOfUser(http, session, method.acceptReceivedInvitation);
    const { userId, owner: organization, sessionId } = session;
    context.values.set(keys.caller, { userId, organization, sessionId, memberships });
    await invitations.acceptReceivedInvitation(
      create(AcceptReceivedInvitationRequestSchema, { invitationId }),
      context,
    );
  }
}

const projectOf = ({ offer }: ReceivedInvitation): string => offer.value?.projectId ?? "";

type Shown = { readonly names: Readonly<Record<string, string>>; readonly mayAccept: boolean };

function item(view: AccountView, invitation: ReceivedInvitation, { names, mayAccept }: Shown): Html {
  const { language } = view;
  const { id, organizationName, expirationDate } = invitation;
  const accept = html`<button name="accept" value="${id}">${pageText("accept", language)}</button>\n`;
  return html`<h2>${organizationName}</h2>
${offered(view, invitation, names)}
${expirationDate ? dated("received_until", view, expirationDate) : nothing}
${mayAccept ? accept : nothing}<button name="ask_decline" value="${id}" class="plain danger">${pageText("decline", language)}</button>`;
}

/** The offer in words. */
function offered(view: AccountView, { organizationName, offer }: ReceivedInvitation, names: Shown["names"]): Html {
  const memberships = offer.case === "membership" ? [offer.value] : [];
  const grants = offer.case === "grant" ? [offer.value] : [];
  const sentences = offersIn(view, { organizationName, projectNames: names, memberships, grants });
  const end = offer.case === "grant" ? offer.value.expirationDate : undefined;
  return html`${sentences.map((sentence) => html`<p>${sentence}</p>\n`)}${end ? dated("received_end", view, end) : nothing}`;
}

/** Asks for confirmation before declining; undefined if the invitation is already over. */
function askToDecline(view: AccountView, list: readonly ReceivedInvitation[], asked: string) {
  const { language } = view;
  const found = list.find(({ id }) => id === asked);
  if (!found) return undefined;
  const { organizationName: organization } = found;
  return questionPage(view, {
    title: pageText("received_title", language, { organization }),
    text: pageText("received_text", language, { organization }),
    fields: html`<button name="decline" value="${asked}" class="danger">${pageText("decline", language)}</button>`,
  });
}
