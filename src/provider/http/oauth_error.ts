import { pageText } from "../../messages/page.ts";
import type { RequestProblem } from "../../messages/request_problem.ts";

/** The error codes of RFC 6749, RFC 6750, RFC 8628, RFC 8707, RFC 9449 and OpenID Connect Core 1.0 that we send. */
export type OauthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_dpop_proof"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "invalid_token"
  | "insufficient_scope"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "access_denied"
  | "authorization_pending"
  | "slow_down"
  | "expired_token"
  | "login_required"
  | "interaction_required"
  | "consent_required"
  | "account_selection_required"
  | "unmet_authentication_requirements"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "registration_not_supported"
  | "server_error"
  | "temporarily_unavailable";

/** An OAuth error; its description is for the application's developer. */
export class OauthError extends Error {
  override readonly name = "OauthError";
  readonly code: OauthErrorCode;
  readonly description: string;
  /** The number of seconds after which the same request may succeed. */
  readonly retrySeconds: number | undefined;

  constructor(code: OauthErrorCode, description: string, retrySeconds?: number) {
    super(`${code}: ${description}`);
    this.code = code;
    this.description = description;
    this.retrySeconds = retrySeconds;
  }
}

/** The error for a malformed request, which is described in English to an application, and on a page in the page's language. */
export class MalformedRequest extends OauthError {
  readonly problem: RequestProblem;

  constructor(problem: RequestProblem) {
    super("invalid_request", pageText(problem.key, "en", problem.params));
    this.problem = problem;
  }
}

/** The error for a client that failed to authenticate; the log says more than the client is told. */
export class ClientRefused extends OauthError {
  constructor(forLog?: string) {
    super("invalid_client", "the client is unknown, inactive, or did not authenticate as registered");
    if (forLog !== undefined) this.cause = new Error(forLog);
  }
}

/** The error for a request that lacks a required access token. */
export class TokenMissing extends OauthError {
  constructor() {
    super("invalid_token", "there is no access token");
  }
}
