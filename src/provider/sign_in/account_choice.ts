import { loginNameOf } from "../../services/callers/login_name.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import type { ClientSession } from "./browser_session.ts";

/** The accounts of a browser, the user that the request expects, and the account that the user chose. */
export type AccountState = {
  readonly sessions: readonly ClientSession[];
  /** The user of the id_token_hint. */
  readonly expectedUser: string | undefined;
  /** The id of the session. */
  readonly chosen: string | undefined;
};

/** The account that a request goes on with, none, or those that the user has to choose from. */
export type AccountChoice =
  | { readonly is: "one"; readonly session: ClientSession | undefined }
  | { readonly is: "several"; readonly sessions: readonly ClientSession[] };

/** Decides by click, hint and prompt which account a request goes on with (OpenID Connect Core 1.0, 3.1.2.1). */
export function accountFor(
  request: AuthorizationRequest,
  { sessions, expectedUser, chosen }: AccountState,
): AccountChoice {
  if (chosen !== undefined) return one(sessions.find(({ sessionId }) => sessionId === chosen));
  const fitting = expectedUser === undefined ? sessions : sessions.filter(({ userId }) => userId === expectedUser);
  const hinted = fitting.find((session) => isNamed(session, request.loginHint));
  const { prompts, loginHint } = request;
  if (fitting.length === 0) return one(undefined);
  if (prompts.includes("select_account")) return { is: "several", sessions: fitting };
  if (hinted) return one(hinted);
  // The password page lets its user name any account.
  if (prompts.includes("login")) return one(fitting.length === 1 && loginHint === "" ? fitting[0] : undefined);
  // A hint that names none of them is a user who is not signed in; the page lets its user decide.
  if (loginHint !== "" && expectedUser === undefined)
    return prompts.includes("none") ? one(undefined) : { is: "several", sessions: fitting };
  return fitting.length === 1 ? one(fitting[0]) : { is: "several", sessions: fitting };
}

const one = (session: ClientSession | undefined): AccountChoice => ({ is: "one", session });

const isNamed = ({ username, email }: ClientSession, loginHint: string): boolean =>
  loginHint !== "" && [username, email ?? ""].map(loginNameOf).includes(loginNameOf(loginHint.trim()));
