import { create } from "@bufbuild/protobuf";
import {
  DeleteSessionRequestSchema,
  DeleteUserSessionsRequestSchema,
  ListSessionsRequestSchema,
  SessionService,
} from "../../../gen/postern/v1/session_pb.ts";
import { pageText } from "../../messages/page.ts";
import { acrOf } from "../../services/callers/authentication_class.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { type Html, html, nothing } from "../pages/html.ts";
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
import { deviceOf } from "./device_name.ts";

const { method } = SessionService;

/** A user's sessions, both of calls and of browsers. */
export function accountSessions({ sessions, userOfSession }: AccountServices): AccountSection {
  return { path: paths.accountSessions, isSensitive: () => false, show, act };

  function listed({ http, session }: AccountView) {
    const request = create(ListSessionsRequestSchema, { pageSize: mostShown });
    return sessions.listSessions(request, contextOfUser(http, session, method.listSessions));
  }

  async function show(view: AccountView, failed?: Failed) {
    const { session, language } = view;
    const list = await listed(view);
    const others = html`<button name="action" value="ask_others" class="plain danger">${pageText("end_others", language)}</button>`;
    const hasOthers = list.sessions.some(({ id }) => id !== session.sessionId);
    const items = list.sessions.map((one) => item(view, one));
    const more = list.nextPageToken ? html`<p>${pageText("more_entries", language)}</p>` : nothing;
    const fields = html`${listOf(view, items)}${more}${hasOthers ? others : nothing}`;
    return accountPage(view, accountForm(view, fields), failed);
  }

  async function act(view: AccountView, form: Parameters) {
    const { http, session } = view;
    const { userId } = session;
    const asked = form.get("ask_session");
    if (asked !== undefined) return askToEnd(view, (await listed(view)).sessions, asked);
    if (form.get("action") === "ask_others") return askToEndOthers(view);
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
  }
}

/** Asks for confirmation before ending a session; undefined if it is already over. */
function askToEnd(view: AccountView, list: readonly Listed[], asked: string) {
  const { language, session } = view;
  const found = list.find(({ id }) => id === asked && id !== session.sessionId);
  if (!found) return undefined;
  return questionPage(view, {
    title: pageText("end_title", language),
    text: pageText("end_text", language),
    about: html`${place(found.origin)}${dated("session_begun", view, found.authTime)}`,
    fields: html`<button name="session" value="${asked}" class="danger">${pageText("end_session", language)}</button>`,
  });
}

const askToEndOthers = (view: AccountView) =>
  questionPage(view, {
    title: pageText("others_title", view.language),
    text: pageText("others_text", view.language),
    fields: html`<button name="action" value="others" class="danger">${pageText("end_others", view.language)}</button>`,
  });

type Listed = Awaited<ReturnType<AccountServices["sessions"]["listSessions"]>>["sessions"][number];

/** The device and the address of an origin. */
function place(origin: Listed["origin"]): Html {
  const parts = [deviceOf(origin?.userAgent ?? ""), origin?.address ?? ""].filter((part) => part !== "");
  return parts.length > 0 ? html`<p><bdi>${parts.join(" · ")}</bdi></p>` : nothing;
}

const isSame = (one: Listed["origin"], other: Listed["origin"]) =>
  one?.address === other?.address && one?.userAgent === other?.userAgent;

function item(view: AccountView, one: Listed): Html {
  const { id, amr, authTime, expirationDate, origin, lastUsedDate, lastUsedOrigin } = one;
  const { language, session } = view;
  const isFull = acrOf(amr) === acrOf(["mfa"]);
  return html`${place(origin)}
${dated("session_begun", view, authTime)}
${lastUsedDate ? html`${dated("last_used", view, lastUsedDate)}${isSame(origin, lastUsedOrigin) ? nothing : place(lastUsedOrigin)}` : nothing}
${dated("session_ends", view, expirationDate)}
${isFull ? html`<p>${pageText("session_full", language)}</p>` : nothing}
${
  id === session.sessionId
    ? html`<p><b>${pageText("this_session", language)}</b></p>`
    : html`<button name="ask_session" value="${id}" class="plain danger">${pageText("end_session", language)}</button>`
}`;
}
