import { OidcAppType } from "../../gen/postern/v1/application_pb.ts";
import { isMultiFactor } from "../services/authentication_class.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import { OauthError } from "./oauth_error.ts";

/** A browser that is signed in. */
export type BrowserSession = {
  readonly sessionId: string;
  readonly userId: string;
  /** The organization of the user. */
  readonly owner: string;
  readonly username: string;
  readonly authTime: Date;
  /** How the user proved who it is (RFC 8176). */
  readonly methods: readonly string[];
  /** Whether the user has a factor beside the password. */
  readonly hasFactor: boolean;
};

/** The next step of a sign-in: a page that asks for the password, for a factor or to go on, or the response. */
export type Step =
  | { readonly is: "password" }
  | { readonly is: "factor"; readonly session: BrowserSession }
  | { readonly is: "confirmation"; readonly session: BrowserSession }
  | { readonly is: "response"; readonly session: BrowserSession };

/** The state that a step depends on; `expectedUser` is the one of the hint, `isConfirmed` after a click on our page. */
export type StepState = {
  readonly session: BrowserSession | undefined;
  readonly expectedUser: string | undefined;
  readonly isConfirmed: boolean;
  readonly now: Date;
};

/** Decides the next step; without a page to be shown it may be an error (OpenID Connect Core 1.0, 3.1.2.6). */
export function nextStep(request: AuthorizationRequest, state: StepState): Step {
  const { session, isConfirmed } = state;
  const isSilent = request.prompts.includes("none");
  if (!session || !isFresh(request, session, state)) {
    if (isSilent) throw new OauthError("login_required", "no session of the browser fits the request");
    return { is: "password" };
  }
  if (request.wantsFactor && !isMultiFactor(session.methods)) return furtherStep(session, isSilent);
  if (isConfirmed || !wantsConfirmation(request)) return { is: "response", session };
  if (isSilent) throw new OauthError("interaction_required", "the user has to confirm");
  return { is: "confirmation", session };
}

/** The step to a sign-in with more than one factor. A user without a factor enters the password, and enrols one after it. */
function furtherStep(session: BrowserSession, isSilent: boolean): Step {
  if (!isSilent) return session.hasFactor ? { is: "factor", session } : { is: "password" };
  throw session.hasFactor
    ? new OauthError("login_required", "the session of the browser has one factor only")
    : new OauthError("unmet_authentication_requirements", "the user has no second factor");
}

function isFresh({ prompts, maxAge }: AuthorizationRequest, session: BrowserSession, state: StepState): boolean {
  if (prompts.includes("login")) return false;
  if (state.expectedUser !== undefined && state.expectedUser !== session.userId) return false;
  return maxAge === undefined || (maxAge > 0 && state.now.getTime() - session.authTime.getTime() <= maxAge * 1000);
}

/**
 * RFC 8252, 8.6: any program can open a browser in the name of a native application, so its user is asked each time; and RFC 8628, 5.4:
 * anybody can send a user the code of another device.
 */
const wantsConfirmation = ({ prompts, client, device }: AuthorizationRequest): boolean =>
  device !== undefined ||
  prompts.includes("consent") ||
  prompts.includes("select_account") ||
  client.oidc.appType === OidcAppType.NATIVE;
