import type { Response } from "@postern/gateway";
import { type PageText, pageText } from "../../messages/page.ts";
import type { Accepted } from "../../services/invitations/answer_invitation.ts";
import type { Offers } from "../../services/invitations/offers.ts";
import type { Account, OpenInvitation } from "../../services/invitations/open_invitation.ts";
import { paths } from "../http/paths.ts";
import { type PersonProblem, personFields, type Typed } from "../mail_pages/person_form.ts";
import type { PlainPage } from "../mail_pages/plain_page.ts";
import { field, problemsOf } from "../pages/field.ts";
import { type Html, hidden, html, nothing, pageResponse } from "../pages/html.ts";
import { offersIn } from "../pages/offered_roles.ts";
import type { ClientSession } from "../sign_in/browser_session.ts";

const path = paths.organizationInvitation;

const longestCode = 40;

/** The possible outcomes of an invitation. */
export const outcomes = ["joined", "accepted", "declined"] as const;
export type Outcome = (typeof outcomes)[number];

/** The problems of an earlier attempt, and what was typed in it. */
type State = Partial<PersonProblem> & { readonly typed?: Typed };

type Content = State & { readonly title: PageText; readonly body: Html };

function shown(page: PlainPage, { status = 200, problems = [], title, body }: Content): Response {
  const { language, brand, http, form } = page;
  // A form that succeeded is not submitted again.
  const here = http.method === "POST" && status === 200 ? undefined : `${path}${http.query && `?${http.query}`}`;
  return pageResponse(
    { language, brand, here, cookies: form.cookies },
    { status, title: pageText(title, language), body: html`${problemsOf(problems)}\n${body}` },
  );
}

/** Asks for the code, if the mail has no link. The form leads here like a link. */
export const codePage = (page: PlainPage): Response =>
  shown(page, {
    title: "invited_title",
    body: html`<form method="get" action="${path}">
${field({
  name: "code",
  label: pageText("mailed_code", page.language),
  attributes: html`maxlength="${String(longestCode)}" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"`,
  hasFocus: true,
})}
<button>${pageText("continue", page.language)}</button>
</form>`,
  });

/** The page for an invitation that cannot be answered. */
export const overPage = (page: PlainPage, state: State): Response =>
  shown(page, {
    ...state,
    title: "invited_title",
    body: html`<p>${pageText("invite_again", page.language)}</p>`,
  });

/** A sentence that says who invites whom to what. */
function whatIsOffered({ language }: Pick<PlainPage, "language">, invitation: OpenInvitation): Html {
  const { organizationName: organization, inviterName: inviter, email } = invitation;
  const offers = offersIn({ language }, invitation);
  return html`<p>${pageText(inviter === "" ? "invited_text" : "invited_by", language, { inviter, organization })}
${pageText("invited_address", language, { email })}</p>
${offers.length === 0 ? nothing : html`<p>${pageText("invited_offers", language)}</p>`}
${listOf(offers)}`;
}

const listOf = (items: readonly string[]): Html =>
  items.length === 0
    ? nothing
    : html`<ul>
${items.map((item) => html`<li>${item}</li>\n`)}</ul>`;

/** A part of what an invitation offers, in words. */
export const partIn = (page: PlainPage, invitation: OpenInvitation, some: Accepted["notGiven"]): readonly string[] =>
  offersIn(page, { ...invitation, ...offersOf(some) });

function offersOf(some: Accepted["notGiven"]): Offers {
  return {
    memberships: some.flatMap(({ membership }) => membership ?? []),
    grants: some.flatMap(({ grant }) => grant ?? []),
  };
}

/** The form with which a new user accepts. */
export function joinPage(page: PlainPage, invitation: OpenInvitation, state: State): Response {
  const { language } = page;
  const { username = invitation.email, givenName = "", familyName = "" } = state.typed ?? {};
  return shown(page, {
    ...state,
    title: "invited_title",
    body: html`${whatIsOffered(page, invitation)}
<h2>${pageText("invited_new", language)}</h2>
<form method="post" action="${path}">
${hiddenIn(page, invitation)}
${personFields({ language, typed: { givenName, familyName }, username, wrong: state.fields ?? [] })}
<button name="action" value="join">${pageText("invited_join", language)}</button>
</form>
${otherWays(page, invitation, "invited_have")}`,
  });
}

/** The buttons that need no fields of the form: another account, and declining. */
const otherWays = (
  page: PlainPage,
  invitation: OpenInvitation,
  account: PageText,
): Html => html`<form method="post" action="${path}">
${hiddenIn(page, invitation)}
<button name="action" value="sign_in" class="plain">${pageText(account, page.language)}</button>
<button name="action" value="decline" class="plain danger">${pageText("decline", page.language)}</button>
</form>`;

/** The hidden fields of a form. It names its invitation, because another link may have been opened in the browser meanwhile. */
const hiddenIn = ({ form }: PlainPage, { id }: OpenInvitation): Html => html`${form.hidden}${hidden("invitation", id)}`;

type Accepting = {
  readonly invitation: OpenInvitation;
  readonly session: ClientSession;
  readonly account: Account;
};

/** The form with which an existing user accepts. It names the account, because a browser may have several. */
export function acceptPage(page: PlainPage, { invitation, session, account }: Accepting, state: State): Response {
  const { language } = page;
  const name = session.displayName === "" ? session.username : `${session.displayName} (${session.username})`;
  const { organizationName: organization } = account;
  const isEmpty = invitation.memberships.length + invitation.grants.length === 0;
  return shown(page, {
    ...state,
    title: "invited_title",
    body: html`${whatIsOffered(page, invitation)}
<p>${pageText("invited_as", language, { name, organization })}</p>
${answer()}
${otherWays(page, invitation, "other_account")}
<p><a href="${path}?new=1">${pageText("invited_create", language)}</a></p>`,
  });

  function answer(): Html {
    if (account.match === "other") return html`<p>${pageText("invited_other", language)}</p>`;
    if (isEmpty) return html`<p>${pageText("invited_nothing", language)}</p>`;
    if (account.match === "unconfirmed")
      return html`<p>${pageText("invited_unconfirmed", language)}</p>
<a class="button" href="${paths.accountEmail}">${pageText("invited_confirm", language)}</a>`;
    return html`<form method="post" action="${path}">
${hiddenIn(page, invitation)}${hidden("user", session.userId)}
<button name="action" value="accept">${pageText("accept", language)}</button>
</form>`;
  }
}

const doneTexts: Readonly<Record<Outcome, { title: PageText; text: PageText }>> = {
  joined: { title: "joined_title", text: "joined_text" },
  accepted: { title: "accepted_title", text: "accepted_text" },
  declined: { title: "declined_title", text: "close_text" },
};

/** The parts that were not given, and those that the user's organization has to accept first, in words. */
type Rest = Readonly<Record<"notGiven" | "notYet", readonly string[]>>;

/** The page that tells the outcome of an invitation. */
export function donePage(page: PlainPage, outcome: Outcome, { notGiven, notYet }: Rest): Response {
  const { language, pending } = page;
  const { title, text } = doneTexts[outcome];
  const signIn = pending === undefined ? paths.account : `${paths.authorize}?${pending}`;
  return shown(page, {
    title,
    body: html`<p>${pageText(text, language)}</p>
${listed("not_given_yet", notYet)}
${listed("not_given", notGiven)}
${outcome === "joined" ? html`<a class="button" href="${signIn}">${pageText("sign_in", language)}</a>` : nothing}`,
  });

  function listed(heading: PageText, items: readonly string[]): Html {
    return items.length === 0 ? nothing : html`<p>${pageText(heading, language)}</p>\n${listOf(items)}`;
  }
}
