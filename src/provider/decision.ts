import { OidcAppType } from "../../gen/postern/v1/application_pb.ts";
import { type AccountState, accountFor } from "./account_choice.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import type { ClientSession } from "./browser_session.ts";
import { asksConsent } from "./consent.ts";
import { OauthError } from "./oauth_error.ts";

/** The next step of a sign-in: a page that asks for the password, the account, the consent or a click to go on, or the response. */
export type Step =
  | { readonly is: "password"; readonly session: ClientSession | undefined }
  | { readonly is: "accounts"; readonly sessions: readonly ClientSession[] }
  | { readonly is: "consent"; readonly session: ClientSession }
  | { readonly is: "confirmation"; readonly session: ClientSession }
  | { readonly is: "response"; readonly session: ClientSession };

/** The clicks of the user on our pages. */
export type Clicks = {
  /** The id of the session that the user chose, or clicked on a page of. */
  readonly chosen: string | undefined;
  /** The user clicked on a page that names the application. */
  readonly isConfirmed: boolean;
  /** The user allowed the application what it asks for. */
  readonly isAllowed: boolean;
  /** The session was begun for this very request. */
  readonly isSignedIn: boolean;
};

/** The state that a step depends on. */
export type StepState = AccountState & Clicks & { readonly now: Date };

/** Decides the next step; without a page to be shown it may be an error (OpenID Connect Core 1.0, 3.1.2.6). */
export function nextStep(request: AuthorizationRequest, state: StepState): Step {
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
  if (asksConsent(request, session, state)) {
    if (isSilent) throw new OauthError("consent_required", "the user has to allow what the application asks for");
    return { is: "consent", session };
  }
  if (state.isConfirmed || !wantsConfirmation(request)) return { is: "response", session };
  if (isSilent) throw new OauthError("interaction_required", "the user has to confirm");
  return { is: "confirmation", session };
}

function isFresh({ prompts, maxAge }: AuthorizationRequest, session: ClientSession, state: StepState): boolean {
  if (state.expectedUser !== undefined && state.expectedUser !== session.userId) return false;
  if (state.isSignedIn) return true;
  if (prompts.includes("login")) return false;
  return maxAge === undefined || (maxAge > 0 && state.now.getTime() - session.authTime.getTime() <= maxAge * 1000);
}

/** RFC 8252, 8.6: any program can open a browser in the name of a native application, so its user is asked each time. */
const wantsConfirmation = ({ client }: AuthorizationRequest): boolean => client.oidc.appType === OidcAppType.NATIVE;
