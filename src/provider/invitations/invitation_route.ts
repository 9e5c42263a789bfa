import type { HttpRoute, Response } from "@postern/gateway";
import { reasonOf } from "../../errors.ts";
import { normalizeCode } from "../../security/code.ts";
import {
  type Accepted,
  type InvitationAnswers,
  invitationAnswers,
} from "../../services/invitations/answer_invitation.ts";
import type { OpenInvitation } from "../../services/invitations/open_invitation.ts";
import { signInTo } from "../account/own_sign_in.ts";
import { type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { type PersonProblem, personIn, personProblem, type Typed, typedIn } from "../mail_pages/person_form.ts";
import { codeMoved, hasWord, type PlainPage, plainRoute } from "../mail_pages/plain_page.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { callOf } from "../request/endpoint.ts";
import { ownClient } from "../request/own_client.ts";
import type { ClientSession } from "../sign_in/browser_session.ts";
import { stepOf } from "../sign_in/browser_step.ts";
import { knownBrowsers } from "../sign_in/known_browser.ts";
import type { SignInSteps } from "../sign_in/steps.ts";
import { callOfUser } from "../sign_in/user_call.ts";
import {
  acceptPage,
  codePage,
  donePage,
  joinPage,
  type Outcome,
  outcomes,
  overPage,
  partIn,
} from "./invitation_page.ts";

const path = paths.organizationInvitation;

/**
 * The route behind the link of an invitation. It shows who invites and what is offered; only submitting a form answers, because mail
 * scanners open links. A new user accepts by creating an account, and an existing one after signing in, if the account has the invited
 * address: nobody else's link can bind roles to an account.
 */
export function invitationRoute(parts: ProviderParts, steps: SignInSteps): HttpRoute {
  const answers = invitationAnswers(parts.deps, parts.settings);
  const sessionOf = sessionIn(steps);
  const answered = answering(parts, steps, answers);
  return plainRoute(parts, { path, show, submit });

  function show(page: PlainPage): Response | Promise<Response> {
    const outcome = outcomes.find((one) => hasWord(page, one));
    if (outcome) return donePage(page, outcome, { notGiven: [], notYet: [] });
    return codeMoved(page, "invitation", normalizeCode) ?? opened(page, (invitation) => asked(page, invitation, {}));
  }

  function submit(page: PlainPage, form: Parameters): Promise<Response> {
    return opened(page, async (invitation) => {
      const typed = typedIn(form);
      // Another tab may have opened another link since.
      if (form.get("invitation") !== invitation.id) return asked(page, invitation, { typed });
      try {
        return (await answered(page, form, invitation)) ?? (await asked(page, invitation, {}));
      } catch (error) {
        const problem = personProblem(error, page.language, "invitation_over");
        noteRefusal(page.http.values, error);
        return asked(page, invitation, { ...problem, typed, isNew: form.get("action") === "join" });
      }
    });
  }

  /** Looks up the invitation that the browser has the code of. */
  async function opened(page: PlainPage, work: (invitation: OpenInvitation) => Promise<Response>): Promise<Response> {
    const code = page.cookie("invitation");
    if (code === undefined) return codePage(page);
    try {
      return await work(await answers.open(code, callOf(page.http)));
    } catch (error) {
      if (reasonOf(error) !== "CODE_INVALID" && reasonOf(error) !== "RATE_LIMIT") throw error;
      noteRefusal(page.http.values, error);
      return overPage(page, personProblem(error, page.language, "invitation_over"));
    }
  }

  /** The forms for the browser: those for its account, or the one that creates an account. */
  async function asked(page: PlainPage, invitation: OpenInvitation, state: Asked): Promise<Response> {
    const session = await sessionOf(page);
    const isNew = state.isNew || hasWord(page, "new") || session === undefined;
    if (isNew) return joinPage(page, invitation, state);
    const account = await answers.accountOf(invitation, session.userId, callOf(page.http));
    return acceptPage(page, { invitation, session, account }, state);
  }
}

/** Makes the read of the session that a browser used last. */
const sessionIn =
  (steps: SignInSteps) =>
  async ({ http }: PlainPage): Promise<ClientSession | undefined> => {
    const step = stepOf(steps.jar, http, { parameters: parametersIn(""), query: "" });
    const [session] = await steps.sessionsOf(step, ownClient);
    return session;
  };

/** Makes the function that processes a form; it returns nothing if the page has to be shown again. */
function answering(parts: ProviderParts, steps: SignInSteps, { join, accept, decline }: InvitationAnswers) {
  const remember = knownBrowsers(parts);
  const sessionOf = sessionIn(steps);

  return async (page: PlainPage, form: Parameters, invitation: OpenInvitation): Promise<Response | undefined> => {
    switch (form.get("action")) {
      case "join": {
        const { userId, passwordSet, notGiven } = await join(invitation, personIn(form), callOf(page.http));
        // The reader of the mail may sign in here, however many wrong passwords come from elsewhere in the meantime.
        const { cookie } = await remember(page.known, { userId, passwordSet });
        return done(page, "joined", { notGiven, invitation, cookies: [cookie] });
      }
      case "accept": {
        const session = await sessionOf(page);
        // The page named the user, and another tab may have switched.
        if (!session || session.userId !== form.get("user")) return undefined;
        const { notGiven } = await accept(invitation, callOfUser(page.http, session));
        return done(page, "accepted", { notGiven, invitation, cookies: [] });
      }
      case "decline":
        await decline(invitation, callOf(page.http));
        return done(page, "declined", { notGiven: [], invitation, cookies: [] });
      case "sign_in":
        return signInTo(steps, { http: page.http, path }, (await sessionOf(page)) ? { prompt: "select_account" } : {});
      default:
        return undefined;
    }
  };
}

/** The problems of a form, and the values that were typed. */
type Asked = Partial<PersonProblem> & { readonly typed?: Typed; readonly isNew?: boolean };

type Done = {
  readonly notGiven: Accepted["notGiven"];
  readonly invitation: OpenInvitation;
  readonly cookies: readonly string[];
};

/** The page after an answer. If it says what was not given, it is shown only once. */
function done(page: PlainPage, outcome: Outcome, { notGiven, invitation, cookies }: Done): Response {
  const all = [page.drop("invitation"), ...cookies];
  if (notGiven.length === 0) return redirect(`${path}?${outcome}=1`, { cookies: all });
  const isWaiting = ({ no }: Accepted["notGiven"][number]) => no.reason === "ACCEPTANCE_REQUIRED";
  const lists = {
    notGiven: partIn(
      page,
      invitation,
      notGiven.filter((one) => !isWaiting(one)),
    ),
    notYet: partIn(page, invitation, notGiven.filter(isWaiting)),
  };
  return donePage({ ...page, form: { ...page.form, cookies: all } }, outcome, lists);
}
