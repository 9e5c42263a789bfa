import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { HttpRequest, Response } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import type { Parameters } from "../http/parameters.ts";
import { problemsOf } from "../pages/field.ts";
import { type Html, html, pageResponse } from "../pages/html.ts";
import { accountPaths, type OwnPath } from "../request/own_client.ts";
import type { ClientSession } from "../sign_in/browser_session.ts";

/** A path of the pages of the account. */
export type AccountPath = (typeof accountPaths)[number];

/** A page of the account, as the user of a session sees it. */
export type AccountView = {
  readonly http: HttpRequest;
  readonly path: AccountPath;
  readonly session: ClientSession;
  readonly language: Language;
  /** The value of the cookie of this browser. */
  readonly browser: string;
  /** The token of the forms of this page. */
  readonly token: string;
  readonly cookies: readonly string[];
};

/** A page of the account and its forms. */
export type AccountSection = {
  readonly path: AccountPath;
  /** Whether a form changes what a sign-in asks for: then the last sign-in has to be fresh. */
  readonly isSensitive: (form: Parameters) => boolean;
  readonly show: (view: AccountView, problem?: string) => Promise<Response>;
  /** Does what a form asks for; answers a page that is shown this once, or nothing. */
  readonly act: (view: AccountView, form: Parameters) => Promise<Response | undefined>;
};

/** The most entries that a page shows. */
export const mostShown = 100;

const titles: Readonly<Record<AccountPath, PageText>> = {
  "/account": "account",
  "/account/email": "account_email",
  "/account/sessions": "account_sessions",
  "/account/applications": "account_applications",
  "/account/factors": "account_factors",
};

/** Makes a page of the account. Each names its user: a browser may have several, and another tab may have switched. */
export function accountPage(view: AccountView, body: Html, problem?: string): Response {
  const { language, path, cookies } = view;
  return pageResponse({
    status: problem === undefined ? 200 : 400,
    language,
    cookies,
    title: pageText(titles[path], language),
    body: html`${userOf(view)}
${problemsOf(problem === undefined ? [] : [problem])}
${body}
<nav aria-label="${pageText("account", language)}">
${accountPaths.filter((other) => other !== path).map((other) => linkTo(other, language))}</nav>`,
  });
}

/** The sentence that names the user of a page. */
export const userOf = ({ session: { displayName, username }, language }: AccountView): Html =>
  html`<p>${pageText("continue_text", language, { name: displayName || username })} <b>${username}</b></p>`;

const linkTo = (path: AccountPath, language: Language): Html =>
  html`<a href="${path}">${pageText(titles[path], language)}</a>
`;

/** The page of somebody who did not sign in, with the way to do so. */
export const closedPage = (language: Language, path: OwnPath): Response =>
  pageResponse({
    language,
    title: pageText("account", language),
    body: html`<p>${pageText("account_closed", language)}</p>
<a class="button" href="${path}">${pageText("sign_in", language)}</a>`,
  });

/** A form of a page of the account. */
export const accountForm = (
  { path, token }: AccountView,
  fields: Html,
): Html => html`<form method="post" action="${path}">
<input type="hidden" name="token" value="${token}">
${fields}
</form>`;

/** The entries of a list, each in its item. */
export const listOf = ({ language }: AccountView, items: readonly Html[]): Html =>
  items.length === 0
    ? html`<p>${pageText("no_entries", language)}</p>`
    : html`<ul class="entries">
${items.map((item) => html`<li>${item}</li>\n`)}</ul>`;

/** A sentence with a date. */
export function dated(key: PageText, { language }: AccountView, date: Date | Timestamp): Html {
  const time = date instanceof Date ? date : timestampDate(date);
  const shown = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
  const [before = "", after = ""] = pageText(key, language, { date: "\n" }).split("\n");
  return html`<p>${before}<time datetime="${time.toISOString()}">${shown.format(time)} UTC</time>${after}</p>`;
}
