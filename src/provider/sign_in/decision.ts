import { OidcAppType } from "../../../gen/postern/v1/application_pb.ts";
import { isMultiFactor } from "../../services/callers/authentication_class.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { type AccountState, accountFor } from "./account_choice.ts";
import type { ClientSession } from "./browser_session.ts";
import { asksConsent } from "./consent.ts";

/** The next step of a sign-in: registration, a page for the account, password, factor, consent or confirmation, or the response. */
export type Step =
  | { readonly is: "registration" }
  | { readonly is: "accounts"; readonly sessions: readonly ClientSession[] }
  | { readonly is: "password"; readonly session: ClientSession | undefined }
  | { readonly is: "factor"; readonly session: ClientSession }
  | { readonly is: "consent"; readonly session: ClientSession }
  | { readonly is: "confirmation"; readonly session: ClientSession }
  | { readonly is: "response"; readonly session: ClientSession };

/** The user's actions on our pages. */
export type Clicks = {
  /** The id of the session that the user chose, or from whose page they clicked. */
  readonly chosen: string | undefined;
  /** The user confirmed a page that names the application and, for a device, its code. */
  readonly isConfirmed: boolean;
  /** The user gave consent. */
  readonly isAllowed: boolean;
  /** The session was begun for this very request. */
  readonly isSignedIn: boolean;
};

export type StepState = AccountState & Clicks & { readonly now: Date };

/** Decides the next step, which is an error if the request allows no page (OpenID Connect Core 1.0, 3.1.2.6). */
export function nextStep(request: AuthorizationRequest, state: StepState): Step {
  if (isForNewUser(request, state)) return { is: "registration" };
  const isSilent = request.prompts.includes("none");
  const choice = accountFor(request, state);
  if (choice.is === "several") {
    if (isSilent) throw new OauthError("account_selection_required", "the user has to choose one of several accounts");
    return { is: "accounts", sessions: choice.sessions };
  }
  const { session } = choice;
  if (!session || !isFresh(request, session, state)) {
    if (isSilent) throw new OauthError("login_required", "no session of the browser fits the request");
    return { is: "password", session };
  }
  if (request.wantsFactor && !isMultiFactor(session.methods)) return furtherStep(session, isSilent);
  return stepWith(session, request, state);
}

/** Whether the request asks for a new account, where people may create one. Elsewhere it is like any other request. */
const isForNewUser = ({ prompts, registersIn }: AuthorizationRequest, { chosen, isSignedIn }: Clicks): boolean =>
  prompts.includes("create") && registersIn !== undefined && chosen === undefined && !isSignedIn;

/** The step for a user who is signed in as the request requires: questions about the application, or the response. */
function stepWith(session: ClientSession, request: AuthorizationRequest, state: StepState): Step {
  const isSilent = request.prompts.includes("none");
  // RFC 8628, 5.4: anybody can send a user the code of another device, so the user is asked before anything else.
  if (request.device && !state.isConfirmed) return { is: "confirmation", session };
  if (asksConsent(request, session, state)) {
    if (isSilent) throw new OauthError("consent_required", "the user has to allow what the application asks for");
    return { is: "consent", session };
  }
  if (state.isConfirmed || !isNative(request)) return { is: "response", session };
  if (isSilent) throw new OauthError("interaction_required", "the user has to confirm");
  return { is: "confirmation", session };
}

/** The step towards a sign-in with a second factor. Users without one enter the password and then enrol a factor. */
function furtherStep(session: ClientSession, isSilent: boolean): Step {
  if (!isSilent) return session.hasFactor ? { is: "factor", session } : { is: "password", session };
  throw session.hasFactor
    ? new OauthError("login_required", "the session of the browser has one factor only")
    : new OauthError("unmet_authentication_requirements", "the user has no second factor");
}

function isFresh({ prompts, maxAge }: AuthorizationRequest, session: ClientSession, state: StepState): boolean {
  if (state.expectedUser !== undefined && state.expectedUser !== session.userId) return false;
  if (state.isSignedIn) return true;
  if (prompts.includes("login")) return false;
  return maxAge === undefined || (maxAge > 0 && state.now.getTime() - session.authTime.getTime() <= maxAge * 1000);
}

/** RFC 8252, 8.6: any program can open a browser in the name of a native application, so the user is asked each time. */
const isNative = ({ client }: AuthorizationRequest): boolean => client.oidc.appType === OidcAppType.NATIVE;
