import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { HttpRequest, Response } from "@postern/gateway";
import { type PageText, pageText } from "../../messages/page.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { problemsOf } from "../pages/field.ts";
import { type Html, html, nothing, pageResponse, withScript } from "../pages/html.ts";
import type { Look } from "../pages/look.ts";
import { accountPaths, type OwnPath } from "../request/own_client.ts";
import type { ClientSession } from "../sign_in/browser_session.ts";
import type { Failed } from "./account_attempt.ts";

export type AccountPath = (typeof accountPaths)[number];

/** A page of the account, as seen by the user of a session. */
export type AccountView = Required<Look> & {
  readonly http: HttpRequest;
  readonly path: AccountPath;
  readonly session: ClientSession;
  /** The value of this browser's cookie. */
  readonly browser: string;
  /** The token of this page's forms. */
  readonly token: string;
  /** Whether the user signed in recently enough to change what a sign-in asks for. */
  readonly isFresh: boolean;
};

/** A page of the account and its forms. */
export type AccountSection = {
  readonly path: AccountPath;
  /** Whether a form changes what a sign-in asks for, which requires a fresh sign-in. */
  readonly isSensitive: (form: Parameters) => boolean;
  readonly show: (view: AccountView, failed?: Failed) => Promise<Response>;
  /** Does what a form asks for. Returns a page to show only once, or nothing. */
  readonly act: (view: AccountView, form: Parameters) => Promise<Response | undefined>;
};

/** The maximum number of entries on a page. */
export const mostShown = 100;

const titles: Readonly<Record<AccountPath, PageText>> = {
  [paths.account]: "account",
  [paths.accountProfile]: "account_profile",
  [paths.accountEmail]: "account_email",
  [paths.accountPhone]: "account_phone",
  [paths.accountPassword]: "account_password",
  [paths.accountFactors]: "account_factors",
  [paths.accountSessions]: "account_sessions",
  [paths.accountApplications]: "account_applications",
  [paths.accountInvitations]: "account_invitations",
  [paths.accountDelete]: "account_delete",
};

/** Makes a page of the account. Each names its user: a browser may have several, and another tab may have switched between them. */
export function accountPage(view: AccountView, body: Html, failed?: Failed): Response {
  const { language, path, http } = view;
  const isSaved = failed === undefined && http.method === "GET" && http.query === saved;
  return pageResponse(view, {
    status: failed === undefined ? 200 : 400,
    title: pageText(titles[path], language),
    beside: sectionsOf(view),
    body: html`${isSaved ? html`<p class="good" role="status">${pageText("account_saved", language)}</p>` : nothing}
${problemsOf(failed?.problems ?? [])}
${body}`,
  });
}

const saved = "saved=1";

/** Leads back to the page, which says that the changes are saved. */
export const savedPage = ({ path }: AccountView, cookies: readonly string[] = []): Response =>
  redirect(`${path}?${saved}`, { cookies });

/** The navigation between the pages of the account, below the name of its user. */
export const sectionsOf = (view: AccountView): Html => html`<nav aria-label="${pageText("account", view.language)}">
${userOf(view)}
<div class="pages">
${accountPaths.map((one) => linkTo(one, view))}</div>
</nav>`;

/** A question before something ends that only another sign-in brings back. */
export type Question = {
  readonly title: string;
  readonly text: string;
  /** The object of the question, if the title does not name it. */
  readonly about?: Html;
  /** The fields and the button of the form. */
  readonly fields: Html;
  readonly keep?: PageText;
};

/** Asks for confirmation before something ends. The form ends it; the link leads back. */
export function questionPage(view: AccountView, { title, text, about = nothing, fields, keep = "cancel" }: Question) {
  const { language, path } = view;
  return pageResponse(view, {
    title,
    beside: sectionsOf(view),
    body: html`${about}
<p>${text}</p>
${accountForm(view, fields)}
<a class="button plain" href="${path}">${pageText(keep, language)}</a>`,
  });
}

/** Names the user, whose username has a line of its own: a browser may break names at their hyphens. */
const userOf = ({ session: { displayName, qualifiedName }, language }: AccountView): Html =>
  html`<p>${pageText("continue_text", language, { name: displayName || qualifiedName })}<br><b>${qualifiedName}</b></p>`;

const linkTo = (path: AccountPath, { path: current, language }: AccountView): Html =>
  html`<a href="${path}"${path === current ? html` aria-current="page"` : nothing}>${pageText(titles[path], language)}</a>
`;

/** The button that leads to another sign-in, in place of a form that requires a recent one. */
export const signInFirst = (view: AccountView): Html => html`<p>${pageText("sign_in_first", view.language)}</p>
${accountForm(view, html`<button name="action" value="begin" class="plain">${pageText("sign_in_again", view.language)}</button>`)}`;

/** The page for a browser without a session, with a link to sign in. */
export const closedPage = (look: Look, path: OwnPath): Response =>
  pageResponse(look, {
    title: pageText("account", look.language),
    body: html`<p>${pageText("account_closed", look.language)}</p>
<a class="button" href="${path}">${pageText("sign_in", look.language)}</a>`,
  });

export const accountForm = (
  { path, token }: AccountView,
  fields: Html,
): Html => html`<form method="post" action="${path}">
<input type="hidden" name="token" value="${token}">
${fields}
</form>`;

export const listOf = ({ language }: AccountView, items: readonly Html[]): Html =>
  items.length === 0
    ? html`<p>${pageText("no_entries", language)}</p>`
    : html`<ul class="entries">
${items.map((item) => html`<li>${item}</li>\n`)}</ul>`;

export function dated(key: PageText, { language }: AccountView, date: Date | Timestamp): Html {
  const time = date instanceof Date ? date : timestampDate(date);
  const shown = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
  const [before = "", after = ""] = pageText(key, language, { date: "\n" }).split("\n");
  return withScript(
    html`<p>${before}<time datetime="${time.toISOString()}">${shown.format(time)} UTC</time>${after}</p>`,
  );
}
