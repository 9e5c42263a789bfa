import { create } from "@bufbuild/protobuf";
import {
  DeleteSessionRequestSchema,
  DeleteUserSessionsRequestSchema,
  ListSessionsRequestSchema,
  SessionService,
} from "../../../gen/postern/v1/session_pb.ts";
import { pageText } from "../../messages/page.ts";
import { acrOf } from "../../services/callers/authentication_class.ts";
import { type Html, html, nothing } from "../pages/html.ts";
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

const { method } = SessionService;

/** A user's sessions, both of calls and of browsers. */
export const accountSessions = ({ sessions, userOfSession }: AccountServices): AccountSection => ({
  path: "/account/sessions",
  isSensitive: () => false,

  async show(view, problem) {
    const { http, session, language } = view;
    const request = create(ListSessionsRequestSchema, { pageSize: mostShown });
    const list = await sessions.listSessions(request, contextOfUser(http, session, method.listSessions));
    const others = html`<button name="action" value="others">${pageText("end_others", language)}</button>`;
    const hasOthers = list.sessions.some(({ id }) => id !== session.sessionId);
    const fields = html`${listOf(
      view,
      list.sessions.map((one) => item(view, one)),
    )}
${list.nextPageToken ? html`<p>${pageText("more_entries", language)}</p>` : nothing}
${hasOthers ? others : nothing}`;
    return accountPage(view, accountForm(view, fields), problem);
  },

  async act({ http, session }, form) {
    const { userId } = session;
    if (form.get("action") === "others") {
      const context = contextOfUser(http, session, method.deleteUserSessions);
      await sessions.deleteUserSessions(create(DeleteUserSessionsRequestSchema, { userId }), context);
    }
    const sessionId = form.get("session");
    if (sessionId === undefined || sessionId === session.sessionId) return undefined;
    const context = contextOfUser(http, session, method.deleteSession);
    // In calls, the guards check that a session is the caller's own.
    if ((await userOfSession(sessionId))?.userId !== userId) return undefined;
    await sessions.deleteSession(create(DeleteSessionRequestSchema, { sessionId }), context);
    return undefined;
  },
});

type Listed = Awaited<ReturnType<AccountServices["sessions"]["listSessions"]>>["sessions"][number];

function item(view: AccountView, { id, amr, authTime, expirationDate }: Listed): Html {
  const { language, session } = view;
  const isFull = acrOf(amr) === acrOf(["mfa"]);
  return html`${dated("session_begun", view, authTime)}
${dated("session_ends", view, expirationDate)}
${isFull ? html`<p>${pageText("session_full", language)}</p>` : nothing}
${
  id === session.sessionId
    ? html`<p><b>${pageText("this_session", language)}</b></p>`
    : html`<button name="session" value="${id}" class="plain">${pageText("end_session", language)}</button>`
}`;
}
