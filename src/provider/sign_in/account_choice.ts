import { loginNameOf } from "../../services/callers/login_name.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { type ClientSession, typedName } from "./browser_session.ts";

/** A browser's accounts, the user that the request expects, and the account that the user chose. */
export type AccountState = {
  readonly sessions: readonly ClientSession[];
  /** The user of the id_token_hint. */
  readonly expectedUser: string | undefined;
  /** The id of the session. */
  readonly chosen: string | undefined;
};

/** The account to continue with, none, or several to choose from. */
export type AccountChoice =
  | { readonly is: "one"; readonly session: ClientSession | undefined }
  | { readonly is: "several"; readonly sessions: readonly ClientSession[] };

/** Decides which account a request continues with, by the user's choice, the hints and the prompt (OpenID Connect Core 1.0, 3.1.2.1). */
export function accountFor(
  request: AuthorizationRequest,
  { sessions, expectedUser, chosen }: AccountState,
): AccountChoice {
  if (chosen !== undefined) return one(sessions.find(({ sessionId }) => sessionId === chosen));
  const fitting = expectedUser === undefined ? sessions : sessions.filter(({ userId }) => userId === expectedUser);
  const hinted = fitting.find((session) => isNamed(session, request));
  const { prompts, loginHint } = request;
  if (fitting.length === 0) return one(undefined);
  if (prompts.includes("select_account")) return { is: "several", sessions: fitting };
  if (hinted) return one(hinted);
  // The user can name any account on the password page.
  if (prompts.includes("login")) return one(fitting.length === 1 && loginHint === "" ? fitting[0] : undefined);
  // If the hint matches none of them, its user is not signed in; the page lets the user decide.
  if (loginHint !== "" && expectedUser === undefined)
    return prompts.includes("none") ? one(undefined) : { is: "several", sessions: fitting };
  return fitting.length === 1 ? one(fitting[0]) : { is: "several", sessions: fitting };
}

const one = (session: ClientSession | undefined): AccountChoice => ({ is: "one", session });

function isNamed(session: ClientSession, { loginHint, organizationId }: AuthorizationRequest): boolean {
  const { username, qualifiedName, owner, email } = session;
  const names = [typedName(session, organizationId), qualifiedName, `${username}@${owner}`, email ?? ""];
  return loginHint !== "" && names.map(loginNameOf).includes(loginNameOf(loginHint.trim()));
}
